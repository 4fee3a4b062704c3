"""Predicted against measured: pass time on this machine, a recorded sweep first.

Rule: a sweep is one ticket in the one line of all that computes; what was measured before it was
stopped is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

import gradio as gr

from specviz.cost.figures.sweep import sweep_figure
from specviz.cost.sweep import Sweep
from specviz.cost.sweep_text import sweep_facts
from specviz.ui.broken import lacking, spared
from specviz.ui.component import TabContext, component
from specviz.ui.live import Job, Start, wire
from specviz.ui.request import HOUSE
from specviz.ui.stream import line, paced
from specviz.ui.task import BEGINNING, Desk, Task

if TYPE_CHECKING:
    from specviz.bench.sweep import SweepRun

NAME: Final = "sv-sweep"
LONGEST: Final = 25.0  # seconds of a sweep: its plan begins no round after 20
OFTEN: Final = 1.0  # seconds between pictures of a sweep under way: drawing takes cores it is on
OURS: Final = f"window.specviz.sweeps['{NAME}']"


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    runs = place.runs
    lacking("The recorded sweep cannot be shown.", Sweep.shipped)
    shown = component(NAME, "cost/sweep/sweep", {"recorded": recorded()})
    go = gr.Button("Measure this machine", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    halt = gr.Button("Stop measuring", elem_id=f"{NAME}-stop", elem_classes="sv-hidden")
    number = gr.Number(visible=False)

    job = Job("sweep", OURS, halt, number)
    wire(runs, job, shown, Start(go, [], lambda: partial(runs.texts, LIVE)))


def tell(desk: Desk) -> Iterator[str]:
    """Load, then measure."""
    yield desk.says("loading")
    target, _ = desk.load(HOUSE, [])
    if desk.unwanted():
        return
    yield desk.says("measuring")
    from specviz.bench.sweep import SweepPlan, SweepRun

    # Nobody needs this order again, so it is a new one each time; the sweep says its seed.
    sweeping = SweepRun(target, SweepPlan(seed=time_ns() % 2**32))
    yield from paced(lines(sweeping, desk.unwanted, desk.nonce))


LIVE: Final = Task(tell, BEGINNING + LONGEST)  # stopped, it ends after its pass


def lines(sweeping: SweepRun, stop: Callable[[], bool], nonce: str) -> Iterator[str]:
    """How far it is, step by step, and a picture now and then; the whole at the end."""
    drawn = perf_counter()
    for step in sweeping.steps(stop):
        yield line("progress", {"done": step.done, "of": step.of, "id": nonce})
        if step.of is not None and perf_counter() - drawn > OFTEN:
            yield line("sweep", picture(sweeping.sweep(), "live") | {"id": nonce})
            drawn = perf_counter()
    made = sweeping.sweep()
    if made.points:
        yield line("sweep", picture(made, "live") | {"id": nonce})


def picture(sweep: Sweep, source: str) -> dict[str, Any]:
    """A sweep as the page shows it. source: "live" or "recorded"."""
    return sweep_facts(sweep, here=source == "live") | {
        "source": source,
        "figure": sweep_figure(sweep),
    }


def recorded() -> dict[str, Any] | None:
    """The sweep that ships; None where it cannot be read."""
    found = spared(Sweep.shipped, None)
    return None if found is None else picture(found, "recorded")
