"""Grow a draft tree: immediately at a recorded position, or live after a visitor's text.

For a visitor's text, the models are run once, as a job in the queue. After that, every tree is
computed without a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Any, Final, Literal, Self, TypedDict

import gradio as gr

from specviz.catalog.entry import entries, title_of, with_defaults
from specviz.settings.settings import Settings
from specviz.shipped import EXAMPLE, prompts
from specviz.trees import shapes
from specviz.trees.recorded_position import (
    LEVELS,
    WIDEST,
    RecordedPosition,
    is_position_file,
)
from specviz.trees.shapes import PRESETS, Parameters, check_range
from specviz.ui.broken import read_unless_broken
from specviz.ui.component import TabContext, browser_object, component
from specviz.ui.live import Start, wire
from specviz.ui.questions import BadRequest, parse
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.stream import ErrorLine, StateLine, Stream, line
from specviz.ui.task import JobContext, Task, gpu_seconds
from specviz.ui.trees.drawing import HELD, names

KINDS: Final[Mapping[str, str]] = {
    "dynamic": "Dynamic, as in EAGLE-2",
    "chain": "A chain",
    "regular": "The same number of children everywhere",
    "eagle-25": "EAGLE-1’s 25 guesses",
    "medusa-63": "Medusa’s 63 guesses",
    "optimised": "Optimal for acceptance by rank (Sequoia)",
    "own": "Your own, as JSON",
}
SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True)
class GrowQuestion:
    """A position, the shape of a tree, and how the tree is judged.

    Attributes:
        place: Name of a position.
        kind: Kind of the tree, one of KINDS.
        parameters: Size of the tree.
        own: The visitor's own shape as JSON text.
        seed: Seed of the random numbers.
        cold: Whether to judge at temperature 0 instead of 1.
    """

    place: str
    kind: str
    parameters: Parameters
    own: str
    seed: int
    cold: bool

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree if it is invalid."""
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise BadRequest(f"The shape must be one of {', '.join(KINDS)}.")
        return cls(
            place=str(data.get("place")),
            kind=kind,
            parameters=Parameters.of(data.get("tree")),
            own=str(data.get("own", "")),
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            cold=bool(data.get("cold")),
        )

    def parents(self, chances: list[float]) -> list[int]:
        """Return the shape of a static tree.

        Args:
            chances: Acceptance by depth and rank.

        Raises:
            BadTree: If the shape is invalid.
        """
        size = self.parameters
        if self.kind == "chain":
            return shapes.chain(size.depth)
        if self.kind == "regular":
            return shapes.regular_tree(size.width, size.depth)
        if self.kind == "optimised":
            return shapes.optimal_tree(chances, size.budget, size.depth)
        if self.kind == "own":
            return shapes.from_text(self.own)
        return shapes.published_tree(self.kind)


NAME: Final = "sv-grow"
OURS: Final = browser_object(NAME)
LOOKING: Final = 200  # how many tokens could be decoded in about the time of recording a position
MOST_SKIPPED: Final = 64  # maximum number of tokens of the answer before the position
GROWS: Final = (
    "eagle3", "eagle2", "eagle", "medusa", "moa", "draft-model", "layerskip", "mtp-parallel",
    "lmtp", "oracle",
)  # fmt: skip


class Limits(TypedDict):
    """Maximum values of the fields."""

    depth: int
    width: int
    skip: int


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        places: Name and title of each position; `kinds` and `drafters` have the same form.
        presets: Title, and depth, width and budget of each.
        prompt: The initial prompt of a live position.
        event: The component's event when there is a live position.
    """

    places: list[tuple[str, str]]
    kinds: list[tuple[str, str]]
    presets: list[tuple[str, tuple[int, int, int]]]
    drafters: list[tuple[str, str]]
    prompt: str
    most: Limits
    event: str


class PositionLine(TypedDict):
    """The name of a live position."""

    kind: Literal["position"]
    place: str


Line = PositionLine | StateLine | ErrorLine


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    here = {entry.name for entry in entries() if entry.kind == "drafter"}
    known: Config = {
        "places": names(),
        "kinds": list(KINDS.items()),
        "presets": [(title, (p.depth, p.width, p.budget)) for title, p in PRESETS],
        "drafters": [(name, title_of(name)) for name in GROWS if name in here],
        "prompt": read_unless_broken(lambda: prompts()["stories"][1], EXAMPLE),
        "most": {"depth": LEVELS, "width": WIDEST, "skip": MOST_SKIPPED},
        "event": "position",
    }
    view = component(NAME, "trees/grow/grow", known)
    place.controls["grow"] = view  # its event has the name and the title of a live position
    place.questions.add("grow", "specviz.ui.trees.grow.answer")
    go = gr.Button("Draft here", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    wire(place.jobs, place.runs, view, OURS, Start(go, [], wanted, f"{OURS}.live"))


def wanted(_: Stream, text: Any) -> Task:
    """Return the task of recording a live position. Raises ValueError for an invalid request."""
    data = parse(text)
    skip = data.get("skip")
    if not isinstance(skip, int) or isinstance(skip, bool) or not 0 <= skip <= MOST_SKIPPED:
        raise ValueError(f"The position must be 0 to {MOST_SKIPPED} tokens into the answer.")
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError("Enter a prompt: some text to continue.")
    request = RunRequest.from_json({"prompt": prompt, "drafter": data.get("drafter")})
    return live(request, skip)


def live(request: RunRequest, skip: int) -> Task:
    """Return the task that records a position after the visitor's text."""
    seconds = gpu_seconds(HOUSE, LOOKING + skip)
    return Task(partial(stream_position, request, skip), seconds, kept)


def stream_position(request: RunRequest, skip: int, context: JobContext) -> Iterator[str]:
    """Load the models, then record the position.

    The last text yielded is the whole position, the input of `kept`.
    """
    yield context.says("loading")
    target, (drafter,) = context.load(HOUSE, [request.drafter])
    from specviz.trees.recording import record_position

    if context.unwanted():
        return
    yield context.says("drafting")
    said = {"sampling": {"temperature": 0.8}, "seed": 1}
    settings = Settings.from_json(with_defaults(request.drafter, said))
    yield record_position(target, drafter, str(request.prompt), settings, skip).to_text()


def kept(text: str) -> str:
    """Store a recorded position for the visitor and return the line with its name."""
    if not is_position_file(text):
        return text
    place = HELD.keep(token_hex(8), RecordedPosition.from_text(text))
    found: PositionLine = {"kind": "position", "place": place}
    return line(found["kind"], found)
