"""A race as a folder: a trace file for every lane, and `race.json` for what no trace says.

Rule: numbers are not kept; whoever reads the folder works them out of the traces again. Standard
library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, Final, Self

from specviz.compare.race import Lane, Race
from specviz.compare.results import Results
from specviz.compare.timing import seconds_of
from specviz.models.files import public_name
from specviz.settings.settings import Settings
from specviz.trace.codec import from_plain, to_plain
from specviz.trace.file import Trace
from specviz.trace.work import Weights

FILE: Final = "race.json"
FORMAT: Final = "specviz-race"
VERSION: Final = 1


class SavedError(ValueError):
    """A folder that holds no race that can be read; says which file and why."""


@dataclass(frozen=True, slots=True)
class SavedLane:
    """A lane as `race.json` has it. weights: how large its drafter is, for the arithmetic."""

    name: str
    drafter: str
    settings: dict[str, Any]
    weights: Weights


@dataclass(frozen=True, slots=True)
class SavedRace:
    """`race.json`. order: of the lanes as they ran. traces: file by lane, those it came to.

    seconds: by lane, of all its runs; None where each ran once.
    """

    format: str
    version: int
    prompt: str
    target: str
    order_seed: int
    weights: Weights
    lanes: list[SavedLane]
    order: list[str]
    traces: dict[str, str]
    seconds: dict[str, list[float]] | None = None

    @classmethod
    def of(cls, results: Results) -> Self:
        """What to write. Raises ValueError where the race did not begin."""
        race = results.race
        if results.target is None:
            raise ValueError("A race that did not begin cannot be kept.")
        lanes = [
            SavedLane(
                lane.name,
                public_name(lane.drafter),
                lane.settings.to_json(),
                results.drafters[lane.name],
            )
            for lane in race.lanes
        ]
        return cls(
            format=FORMAT,
            version=VERSION,
            prompt=race.prompt,
            target=public_name(race.target),
            order_seed=race.order_seed,
            weights=results.target,
            lanes=lanes,
            order=list(results.order),
            traces={name: _file(at, name) for at, name in enumerate(results.traces, start=1)},
            seconds=results.seconds if any(len(s) > 1 for s in results.seconds.values()) else None,
        )

    @property
    def race(self) -> Race:
        """The race that was run. Raises BadSettings."""
        lanes = (
            Lane(lane.name, lane.drafter, Settings.from_json(lane.settings)) for lane in self.lanes
        )
        return Race(self.prompt, self.target, tuple(lanes), self.order_seed)


def write(folder: Path, results: Results) -> None:
    """Write the folder anew, each lane's trace as the race left it. Raises OSError."""
    saved = SavedRace.of(results)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    for name, file in saved.traces.items():
        results.traces[name].write(folder / file)
    text = json.dumps(to_plain(saved), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Results:
    """The race in a folder, as if it had just been run. Raises SavedError with a sentence."""
    try:
        saved: SavedRace = from_plain(SavedRace, json.loads((folder / FILE).read_text("utf-8")))
        race = saved.race
        _check(saved, race)
        traces = {name: Trace.read(folder / file) for name, file in saved.traces.items()}
        seconds = _seconds(saved, traces)
    except (OSError, TypeError, ValueError) as problem:
        # A fault of the disk says the whole path, which is nobody's business.
        said = problem.strerror if isinstance(problem, OSError) else str(problem).rstrip(".")
        raise SavedError(f"The race {folder.name!r} cannot be read: {said}.") from problem
    drafters = {lane.name: lane.weights for lane in saved.lanes}
    return Results(race, tuple(saved.order), saved.weights, drafters, traces, seconds)


def _seconds(saved: SavedRace, traces: Mapping[str, Trace]) -> dict[str, list[float]]:
    """By lane, of all its runs. Raises ValueError unless each trace is of the middle one."""
    own = {name: seconds_of(trace) for name, trace in traces.items()}
    found = saved.seconds or {name: [seconds] for name, seconds in own.items()}
    if {name: median_low(runs or [0.0]) for name, runs in found.items()} != own:
        raise ValueError(f"the seconds of {FILE} and the traces do not fit")
    return found


def _check(saved: SavedRace, race: Race) -> None:
    """Raise ValueError where the parts of `race.json` do not fit each other."""
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ValueError(f"{FILE} is no {FORMAT} of version {VERSION}")
    ran = list(saved.traces)
    if sorted(saved.order) != sorted(race.order) or not ran or ran != saved.order[: len(ran)]:
        raise ValueError(f"the lanes of {FILE} and their order do not fit")
    if any(Path(file).name != file for file in saved.traces.values()):
        raise ValueError("a trace lies outside the folder")


def _file(place: int, name: str) -> str:
    """The file of the lane that ran as number `place`."""
    return f"{place}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.jsonl"
