"""A live measurement by domain as JSON lines: the map, its changes, and the current turn.

The whole measurement is one job in the queue; if it is stopped, finished turns are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypedDict

from specviz.catalog.entry import title_of
from specviz.compare.domains import Plan
from specviz.compare.domains.heatmap import (
    Column,
    HeatMap,
    MapNumbers,
    Row,
    ShownCell,
    view,
)
from specviz.shipped import domain_label
from specviz.texts import count, text
from specviz.ui.request import HOUSE
from specviz.ui.stream import ErrorLine, StateLine, line
from specviz.ui.task import JobContext, Task, gpu_seconds

if TYPE_CHECKING:
    from specviz.compare.domains.run import Measurements, TurnStarted
    from specviz.models.target import Target

PAUSE: Final = 0.5  # seconds between lines, since sending a line takes time from the measurement


class MapLine(MapNumbers):
    """A live map. The first line is complete; later ones have no names and only changed cells."""

    kind: Literal["map"]
    id: str
    badge: str
    where: str
    rows: NotRequired[list[Row]]
    columns: NotRequired[list[Column]]


class NowLine(TypedDict):
    """The current turn.

    Attributes:
        place: Its number, from 1.
    """

    kind: Literal["now"]
    id: str
    place: int
    of: int
    sentence: str


Line = MapLine | NowLine | StateLine | ErrorLine


def live(plan: Plan) -> Task:
    """Create the task of a measurement. A stop takes effect after the current turn."""
    return Task(
        partial(stream_domains, plan), gpu_seconds(HOUSE, 2 * len(plan.order) * plan.new_tokens)
    )


def stream_domains(plan: Plan, context: JobContext) -> Iterator[str]:
    """Load the models, then measure turn by turn."""
    yield context.says("loading")
    target, loaded = context.load(HOUSE, plan.drafters)
    if context.unwanted():
        return
    from specviz.compare.domains.run import Measurements, TurnStarted, run

    by_name = dict(zip(plan.drafters, loaded, strict=True))
    measured, lines = Measurements(), Lines(plan, where(target), context.nonce)
    try:
        with closing(run(target, by_name, plan, context.unwanted)) as events:
            for event in events:
                measured.add(event)
                # Often no line is due, but the job may be interrupted here.
                yield lines.began(event, measured) if isinstance(event, TurnStarted) else ""
    except Exception:
        yield from lines.ended(measured)  # keep the turns before the error
        raise
    yield from lines.ended(measured)


def where(target: Target) -> str:
    """Return the machine and the number format as text."""
    from specviz.models.devices import describe_device

    return f"{describe_device(target.device)} · {str(target.dtype).removeprefix('torch.')}"


class Lines:
    """Builds the lines: first the whole map, then only changed cells."""

    def __init__(self, plan: Plan, where: str, nonce: str) -> None:
        self.plan = plan
        self.where = where
        self.nonce = nonce
        self.turns = len(plan.order)
        # The cells that the page has; None before the map was sent.
        self.sent_cells: dict[str, ShownCell] | None = None
        self.sent: float | None = None

    def began(self, event: TurnStarted, measured: Measurements) -> str:
        """Return the line for a new turn, with changed cells; empty if one was just sent."""
        now = perf_counter()
        if self.sent is not None and now - self.sent < PAUSE:
            return ""
        self.sent = now
        turn = event.turn
        named = {"drafter": title_of(turn.drafter), "domain": domain_label(turn.domain)}
        said: NowLine = {
            "kind": "now",
            "id": self.nonce,
            "place": event.number,
            "of": self.turns,
            "sentence": text("compare", "map_turn", prompt=turn.prompt + 1, **named),
        }
        return self._changes(measured, "live") + line(said["kind"], said)

    def ended(self, measured: Measurements) -> Iterator[str]:
        """Yield the last line, with the remaining changes and whether the plan finished.

        If no turn started, nothing is yielded.
        """
        if self.sent_cells is not None:
            stopped = f"live, stopped after {measured.done} of {self.turns}"
            yield self._changes(measured, "live" if measured.done == self.turns else stopped)

    def _changes(self, measured: Measurements, badge: str) -> str:
        plan = self.plan
        heat = HeatMap.from_cells(measured.cells, plan.drafters, plan.domains, plan.prompts)
        whole = view(heat)
        said: MapLine = {
            **whole, "kind": "map", "id": self.nonce, "badge": badge, "where": self._where(),
        }  # fmt: skip
        if self.sent_cells is not None:
            before = self.sent_cells
            said["cells"] = {k: cell for k, cell in said["cells"].items() if before.get(k) != cell}
            del said["rows"], said["columns"]
        self.sent_cells = whole["cells"]
        return line(said["kind"], said)

    def _where(self) -> str:
        plan = self.plan
        parts = (
            self.where,
            f"{count(plan.prompts, 'prompt')} per domain",
            f"{plan.new_tokens} new tokens",
            f"T {plan.temperature:g}",
            f"order seed {plan.order_seed}",
        )
        return " · ".join(parts)
