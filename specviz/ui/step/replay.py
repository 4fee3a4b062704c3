"""A run as one HTML file that replays it offline in the player."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypedDict

from specviz.catalog.entry import title_of
from specviz.frames.frame import StepName
from specviz.frames.whatif import U_TO_ACCEPT, U_TO_REJECT
from specviz.settings.suggestion import did_you_mean
from specviz.texts import count
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.trace.metrics import explain_noise
from specviz.ui.offline import OfflinePart, Replay, pack
from specviz.ui.step.lines import lines

if TYPE_CHECKING:
    from specviz.ui.step.player import Config

# Parts of the player that can be shown alone, with their heights in a frame in pixels.
HEIGHTS: Final[Mapping[str, int]] = {
    "text": 100, "sentence": 120, "tree": 360, "pass": 170, "coin": 240, "table": 380,
    "timeline": 200, "controls": 110, "race": 220,
}  # fmt: skip
SHOWABLE: Final = tuple(HEIGHTS)
WHOLE: Final = 820  # the height of the whole player
EDGES: Final = 24  # above and below the parts
REJECTED: Final = "rejected"  # finds the first step with a rejection


class Link(TypedDict):
    """A step of a run: the round's number and the step's id, as in links to the page."""

    round: int
    step: str


def show(trace: Trace, number: int | None = None, step: str | None = None) -> Replay:
    """Return the replay of a run for a notebook; see `replay`."""
    return Replay(replay(trace, number, step), summary(trace), PLAYER.title)


def summary(trace: Trace) -> str:
    """Return a run in a sentence: models, tokens, passes and, if measured, the speed-up."""
    found = metrics.summary(trace)
    models = f"{title_of(trace.header.target.name)} with {title_of(trace.header.drafter.name)}"
    passes = count(found["target_passes"], "target pass", "target passes")
    plain = trace.baseline
    measured = plain is not None and found["speedup"] is not None
    speed = f", {found['speedup']:.2f} × plain decoding" if measured else ""
    noise = explain_noise(trace, plain) if plain is not None else None
    return f"{models}: {count(found['tokens'], 'token')} in {passes}{'' if noise else speed}."


def replay(
    trace: Trace,
    number: int | None = None,
    step: str | None = None,
    show: Sequence[str] = (),
) -> str:
    """Return the HTML file that replays a run; see `Recording.file`."""
    return Recording.of(trace).file(number, step, show)


@dataclass(frozen=True, slots=True)
class Recording:
    """A run as the player's file contains it, from which a file for any step is made quickly."""

    packed: str
    steps: tuple[tuple[int, StepName], ...]

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """Return the recording of a run."""
        run = [*lines([trace.header, *trace.events], "recorded", "run")]
        return cls(pack(run), tuple(list_steps(run)))

    def file(
        self, number: int | None = None, step: str | None = None, show: Sequence[str] = ()
    ) -> str:
        """Return the HTML file that replays the run.

        Raises ValueError if the run has no such step, or the player no such part.

        Args:
            number: The round that is shown first; see `find_step`.
            step: The step that is shown first.
            show: The only parts to show, from SHOWABLE; all if empty.
        """
        if unknown := [part for part in show if part not in SHOWABLE]:
            hint = did_you_mean(unknown[0], SHOWABLE)
            raise ValueError(f"{unknown[0]!r} is none of the parts: {', '.join(SHOWABLE)}.{hint}")
        at = None if number is None and step is None else find_step(self.steps, number, step)
        return PLAYER.file_of(self.packed, at=at, show=list(show))


def frame_height(parts: Sequence[str]) -> int:
    """Return the height in pixels of a frame with these parts of SHOWABLE; all if empty."""
    return EDGES + sum(HEIGHTS[part] for part in parts) if parts else WHOLE


def find_step(steps: Iterable[tuple[int, StepName]], number: int | None, step: str | None) -> Link:
    """Find a step of a run.

    Raises ValueError if the run has no such step.

    Args:
        steps: All steps of the run, each with the number of its round.
        number: The number of a round; if None, the first round that has the step.
        step: A step's id, as in links to the page ("score", "judge-2"), or REJECTED; if None, the
            round's first step.
    """
    found = [place for place in steps if number in (None, place[0])]
    for place, name in found:
        if step in (None, name["id"], name.get("is") if step == REJECTED else None):
            return {"round": place, "step": name["id"]}
    ids = ", ".join(name["id"] for _, name in found)
    if not ids:
        raise ValueError(f"This run has no round {number}.")
    where = "This run" if number is None else f"Round {number}"
    known = "" if number is None else f", only {ids}"
    raise ValueError(f"{where} has no step {step!r}{known}.")


def list_steps(run: Iterable[str]) -> Iterator[tuple[int, StepName]]:
    """Yield each step of a run's lines with the number of its round."""
    number = 0
    for text in run:
        data = json.loads(text)
        number = data.get("number", number)
        for frame in [*data.get("frames", []), *([data["end"]] if "end" in data else [])]:
            yield number, frame["step"]


def config() -> Config:
    """Return the config of the player in a file, which has no server and so no form."""
    return {
        "served": False,
        "files": {"address": "", "file": 0, "trace": 0},
        "frame": {"whole": WHOLE, "edges": EDGES, "parts": {}},
        "replay": "",
        "traces": "",
        "recorded": [],
        "defaults": {},
        "form": [],
        "targets": [],
        "drafters": [],
        "coins": {"accept": U_TO_ACCEPT, "reject": U_TO_REJECT},
    }


PLAYER: Final = OfflinePart(
    name="sv-step",
    title="A run, step by step",
    markup="step/player",
    script="run_file",
    folders=("step",),
    config=config,
)
