"""Races on disk: recorded races, and the recipes by which the shipped ones were recorded.

A race is stored in a folder with one trace file per lane, and `race.json` with everything that the
traces do not contain. Results are not stored but computed from the traces. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, Final, Self

from specviz.catalog.entry import with_defaults
from specviz.compare.measures import total_seconds
from specviz.compare.race import Lane, Race, Results
from specviz.models.files import public_name
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, HOUSE, read_shipped_json, text_of
from specviz.trace.codec import from_plain, to_plain
from specviz.trace.file import Trace
from specviz.trace.work import Weights

FOLDER: Final = ASSETS / "races"
FILE: Final = "race.json"
FORMAT: Final = "specviz-race"
VERSION: Final = 1


class SavedError(ValueError):
    """Raised if a race could not be read; the message says which file and why."""


@dataclass(frozen=True, slots=True)
class SavedLane:
    """A lane in `race.json`. weights: size of the lane's drafter, used to compute FLOPs."""

    name: str
    drafter: str
    settings: dict[str, Any]
    weights: Weights


@dataclass(frozen=True, slots=True)
class SavedRace:
    """The content of `race.json`.

    Attributes:
        order: Names of the lanes in the order in which they ran.
        seconds: Seconds of each lane's runs; None if every lane ran once.
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
    def from_results(cls, results: Results, files: Mapping[str, str] | None = None) -> Self:
        """Convert results.

        files: trace files by lane; None: numbered in the order in which the lanes ran. Raises
        ValueError if the race has not started.
        """
        race = results.race
        if results.target is None:
            raise ValueError("A race that has not started cannot be saved.")
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
            traces={
                name: files[name] if files else _file_name(number, name)
                for number, name in enumerate(results.traces, start=1)
            },
            seconds=results.seconds if any(len(s) > 1 for s in results.seconds.values()) else None,
        )

    @property
    def race(self) -> Race:
        """Rebuild the race. Raises BadSettings if it is not valid."""
        lanes = (
            Lane(lane.name, lane.drafter, Settings.from_json(lane.settings)) for lane in self.lanes
        )
        return Race(self.prompt, self.target, tuple(lanes), self.order_seed)


def write(folder: Path, results: Results) -> None:
    """Write a race to a folder, replacing its content.

    Raises OSError if the files cannot be written.
    """
    saved = SavedRace.from_results(results)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    for name, file in saved.traces.items():
        results.traces[name].write(folder / file)
    write_saved(folder, saved)


def write_saved(folder: Path, saved: SavedRace) -> None:
    """Write `race.json`. Raises OSError."""
    text = json.dumps(to_plain(saved), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Results:
    """Read a race from a folder, as if it had just been run.

    Raises SavedError if it cannot be read.
    """
    try:
        saved: SavedRace = from_plain(SavedRace, json.loads((folder / FILE).read_text("utf-8-sig")))
        race = saved.race
        _check(saved, race)
        traces = {name: Trace.read(folder / file) for name, file in saved.traces.items()}
        seconds = _seconds(saved, traces)
    except (OSError, TypeError, ValueError) as problem:
        # The message of an OSError contains the whole path, which visitors must not see.
        reason = problem.strerror if isinstance(problem, OSError) else str(problem).rstrip(".")
        raise SavedError(f"The race {folder.name!r} cannot be read: {reason}.") from problem
    drafters = {lane.name: lane.weights for lane in saved.lanes}
    return Results(race, tuple(saved.order), saved.weights, drafters, traces, seconds)


def _seconds(saved: SavedRace, traces: Mapping[str, Trace]) -> dict[str, list[float]]:
    own = {name: total_seconds(trace) for name, trace in traces.items()}
    found = saved.seconds or {name: [seconds] for name, seconds in own.items()}
    if {name: median_low(runs or [0.0]) for name, runs in found.items()} != own:
        raise ValueError(f"the seconds of {FILE} and the traces do not match")
    return found


def _check(saved: SavedRace, race: Race) -> None:
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ValueError(f"{FILE} is not a {FORMAT} file of version {VERSION}")
    ran = list(saved.traces)
    if sorted(saved.order) != sorted(race.order) or not ran or ran != saved.order[: len(ran)]:
        raise ValueError(f"the lanes of {FILE} and their order do not match")
    if any(Path(file).name != file for file in saved.traces.values()):
        raise ValueError("a trace file is outside the folder")


def _file_name(number: int, name: str) -> str:
    return f"{number}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.jsonl"


@dataclass(frozen=True, slots=True)
class RaceRecipe:
    """How a shipped race is recorded.

    Attributes:
        prompt: A shipped prompt by domain and number, or a text.
        order_seed: See `Race`.
        settings: Settings of all lanes that differ from the defaults.
        lanes: For each lane by name, the drafter and the settings of that lane alone.
    """

    name: str
    title: str
    prompt: tuple[str, int] | str
    order_seed: int
    settings: dict[str, Any]
    lanes: dict[str, tuple[str, dict[str, Any]]]
    target: str = HOUSE

    @property
    def race(self) -> Race:
        """The race to run."""
        lanes = tuple(
            Lane(name, drafter, Settings.from_json(with_defaults(drafter, self.settings | own)))
            for name, (drafter, own) in self.lanes.items()
        )
        return Race(text_of(self.prompt), self.target, lanes, self.order_seed)


def recipes(folder: Path = FOLDER) -> list[RaceRecipe]:
    """Return the recipes of the shipped races; empty without a list.

    Raises BrokenFile if the list is damaged.
    """
    listed = folder / "recipes.json"
    if not listed.exists():
        return []
    return read_shipped_json(listed, lambda rows: [RaceRecipe(**row) for row in rows])
