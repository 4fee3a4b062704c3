"""Predicted and measured pass time on this machine; a recorded sweep is shown first.

A sweep measures passes of many sizes. It is one job in the queue; if it is stopped, finished
measurements are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

import gradio as gr

from specviz.cost.figures.sweep import sweep_figure
from specviz.cost.sweep import Sweep
from specviz.cost.sweep_text import pass_rows, sweep_sentences
from specviz.texts import text
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.live import job_view
from specviz.ui.request import HOUSE
from specviz.ui.stream import paced, progress
from specviz.ui.task import BEGINNING, JobContext, Task

if TYPE_CHECKING:
    from specviz.bench.sweep import SweepRun

MAX_SECONDS: Final = 25.0  # seconds of a sweep; no round begins after 20
OFTEN: Final = 1.0  # seconds between snapshots, since drawing one uses cores that are being timed
SENTENCES: Final = ("must", "memory", "gap", "grows", "caution", "how")
HEAD: Final = (
    "| tokens in the pass | draft tokens verified | measured, ms | middle 50%, ms | plain passes "
    "| roofline, ms (simulated) |\n|--:|--:|--:|--:|--:|--:|"
)


def build(place: TabContext) -> None:
    """Build the instrument and connect its events."""
    report_if_broken("The recorded sweep cannot be shown.", Sweep.shipped)
    first = recorded()
    title = "This machine: predicted and measured"
    with Instrument(place, "sweep", title, "measured", first["answer"]) as instrument:
        gr.Markdown(text("cost", "sweep_lead"))
        job = job_view(place, "sv-sweep-job", ("Measure this machine", "Stop"), lambda: LIVE, [])
        where = gr.Markdown(elem_id="sv-sweep-where")
        passes = figure("sv-sweep-passes", "this-machine")
        words = gr.Markdown()
        with gr.Accordion("All numbers", open=False):
            numbers = gr.Markdown(elem_classes="sv-listing", elem_id="sv-sweep-numbers")
    live = gr.State()
    outputs = {"where": where, "passes": passes, "words": words, "numbers": numbers}
    instrument.wire({"live": live}, outputs, respond)
    instrument.hear(job.result, lambda event, _: {"live": received(event.value)})


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of the sweep that was measured, or else of the recorded one."""
    return pictured(values["live"], here=True) if values["live"] else recorded()


def received(result: Any) -> Sweep:
    """Return a sweep that the page sent back. Raises ValueError if it is not one."""
    return Sweep.from_text(json.dumps(result))


def recorded() -> dict[str, Any]:
    """Return the outputs of the shipped sweep; only a sentence if it cannot be read."""
    found = read_unless_broken(Sweep.shipped, None)
    return {"answer": text("cost", "sweep_none")} if found is None else pictured(found, here=False)


def pictured(sweep: Sweep, here: bool) -> dict[str, Any]:
    """Return the outputs for a sweep. here: whether it was just measured on this machine."""
    said = sweep_sentences(sweep, here=here)
    name = "sweep_where" if here else "sweep_where_recorded"
    return {
        "answer": verbatim(said["answer"]),
        "where": text("cost", name, where=verbatim(said["where"])),
        "passes": shown(sweep_figure(sweep), said["answer"]),
        "words": "\n\n".join(verbatim(said[key]) for key in SENTENCES if said[key]),
        "numbers": numbers_table(sweep),
    }


def numbers_table(sweep: Sweep) -> str:
    """Return all numbers of a sweep as a table."""
    rows = [
        f"| {row.tokens} | {row.tokens - 1} | {' | '.join(row[1:])} |" for row in pass_rows(sweep)
    ]
    return "\n".join([HEAD, *rows])


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


LIVE: Final = Task(
    stream_sweep, BEGINNING + MAX_SECONDS
)  # a stopped sweep ends after its current pass


def lines(sweeping: SweepRun, stop: Callable[[], bool], nonce: str) -> Iterator[str]:
    """Yield progress after each step, sometimes a snapshot, and at the end the whole sweep."""
    drawn, at = perf_counter(), (nonce, 0, 0, "")
    for step in sweeping.steps(stop):
        done, of = step.done, step.of or 0
        at = nonce, done, of, text("cost", "sweep_progress", done=done, of=of)
        if step.of is not None and perf_counter() - drawn > OFTEN:
            yield progress(*at, json.loads(sweeping.sweep().to_text()))
            drawn = perf_counter()
        else:
            yield progress(*at)
    made = sweeping.sweep()
    if made.points:
        yield progress(*at, json.loads(made.to_text()))
