"""Predicted and measured pass time on this machine; a recorded sweep is shown first.

A sweep measures passes of many sizes. It is one job in the queue; if it is stopped, finished
measurements are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Final, Literal, TypedDict

import gradio as gr

from specviz.cost.figures.measured import sweep_figure
from specviz.cost.sweep import Sweep
from specviz.cost.sweep_text import SweepFacts, sweep_facts
from specviz.frames.scene import Figure
from specviz.ui.broken import lacking, spared
from specviz.ui.component import TabContext, component
from specviz.ui.live import Start, wire
from specviz.ui.request import HOUSE
from specviz.ui.stream import ErrorLine, Source, StateLine, line, paced
from specviz.ui.task import BEGINNING, JobContext, Task

if TYPE_CHECKING:
    from specviz.bench.sweep import SweepRun


NAME: Final = "sv-sweep"
LONGEST: Final = 25.0  # seconds of a sweep; no round begins after 20
OFTEN: Final = 1.0  # seconds between snapshots, since drawing one uses cores that are being timed
OURS: Final = f"window.specviz.sweeps['{NAME}']"


class SweepData(SweepFacts):
    """A sweep as sent to the page."""

    source: Source
    figure: Figure


class SweepLine(SweepData):
    """The line of a sweep that is being measured."""

    kind: Literal["sweep"]
    id: str


class ProgressLine(TypedDict):
    """Number of measurements so far.

    Attributes:
        of: Their total; None during the warm-up.
    """

    kind: Literal["progress"]
    id: str
    done: int
    of: int | None


class Config(TypedDict):
    """Initial data of the section."""

    recorded: SweepData | None


Line = SweepLine | ProgressLine | StateLine | ErrorLine


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    lacking("The recorded sweep cannot be shown.", Sweep.shipped)
    config: Config = {"recorded": recorded()}
    shown = component(NAME, "cost/sweep/sweep", config)
    go = gr.Button("Measure this machine", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    wire(place.jobs, place.runs, shown, OURS, Start(go, [], lambda _: LIVE))


def stream_sweep(context: JobContext) -> Iterator[str]:
    """Load the target, then measure."""
    yield context.says("loading")
    target, _ = context.load(HOUSE, [])
    if context.unwanted():
        return
    yield context.says("measuring")
    from specviz.bench.sweep import SweepPlan, SweepRun

    # The order need not be reproducible, so each sweep uses a new seed, which is shown.
    sweeping = SweepRun(target, SweepPlan(seed=time_ns() % 2**32))
    yield from paced(lines(sweeping, context.unwanted, context.nonce))


LIVE: Final = Task(stream_sweep, BEGINNING + LONGEST)  # a stopped sweep ends after its current pass


def lines(sweeping: SweepRun, stop: Callable[[], bool], nonce: str) -> Iterator[str]:
    """Yield progress after each step, sometimes a snapshot, and at the end the whole sweep."""
    drawn = perf_counter()
    for step in sweeping.steps(stop):
        progress: ProgressLine = {
            "kind": "progress", "id": nonce, "done": step.done, "of": step.of,
        }  # fmt: skip
        yield line(progress["kind"], progress)
        if step.of is not None and perf_counter() - drawn > OFTEN:
            yield sweep_line(sweeping.sweep(), nonce)
            drawn = perf_counter()
    made = sweeping.sweep()
    if made.points:
        yield sweep_line(made, nonce)


def sweep_line(sweep: Sweep, nonce: str) -> str:
    """Return the line of the measurements so far."""
    shown: SweepLine = {"kind": "sweep", "id": nonce, **picture(sweep, "live")}
    return line(shown["kind"], shown)


def picture(sweep: Sweep, source: Source) -> SweepData:
    """Return a sweep as sent to the page."""
    facts = sweep_facts(sweep, here=source == "live")
    return {**facts, "source": source, "figure": sweep_figure(sweep)}


def recorded() -> SweepData | None:
    """Return the shipped sweep; None if it cannot be read."""
    found = spared(Sweep.shipped, None)
    return None if found is None else picture(found, "recorded")
