"""Repeat a live run on a busy machine until the medians of its times can be trusted.

Each repetition is the same run: the same rounds, tokens and passes, so each time of the run has a
median over the repetitions. `explain_noise` decides whether these medians are plausible. The page
shows one of the runs; only its totals and its speed-up are computed from the medians, and say so.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from specviz.trace.events import Event, Header
from specviz.trace.file import Trace
from specviz.trace.metrics import alike, explain_noise, median_times, summary
from specviz.ui.request import RunRequest
from specviz.ui.step.lines import Repeats, lines
from specviz.ui.step.live import seconds
from specviz.ui.stream import BaselineNext, paced
from specviz.ui.task import JobContext, Task

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target

LEAST: Final = 3  # runs of which a median is taken
MAX_SECONDS: Final = 60.0  # seconds after which no other run begins


def repeated(request: RunRequest) -> Task:
    """Build the task that repeats a run until its times are stable, and streams one of the runs."""
    return Task(partial(repeat, request), seconds(request) + MAX_SECONDS)


def repeat(request: RunRequest, context: JobContext) -> Iterator[str]:
    """Load the models and repeat the run; then yield the lines of one run with the medians."""
    yield context.says("loading")
    target, (drafter,) = context.load(request.target, [request.drafter])
    yield BaselineNext(context.says("repeating"))  # from here on, other visitors' rounds go first
    end, found = monotonic() + MAX_SECONDS, Repetitions()
    while not (context.unwanted() or found.settled):
        run = yield from _measure(request, target, drafter, context)
        if run is not None:
            found.add(run)
        if run is None or monotonic() > end:
            break
    if found.runs:
        shown = found.typical()
        events = iter([shown.header, *shown.events])
        names = (request.target, request.drafter)
        yield from paced(lines(events, "live", context.nonce, names, found.repeats()))


def _measure(
    request: RunRequest, target: Target, drafter: Drafter, context: JobContext
) -> Generator[str, None, Trace | None]:
    # Yields an empty text wherever others may take their turn. Returns None if it was stopped
    # before its baseline was measured.
    from specviz import engine

    trace: Trace | None = None
    run = engine.run_stepwise(
        target, drafter, request.prompt, request.settings, stop=context.unwanted
    )
    with closing(run) as events:
        for event in events:
            yield ""
            if isinstance(event, Header):
                trace = Trace(event)
            elif trace is not None and isinstance(event, Event):
                trace.events.append(event)
    return None if trace is None or trace.baseline is None else trace


class Repetitions:
    """Runs of one request. runs: the runs that did the same work as the last one."""

    def __init__(self) -> None:
        self.runs: list[Trace] = []

    def add(self, run: Trace) -> None:
        """Add a run. Earlier ones that did other work, by rounding errors on a GPU, are dropped."""
        self.runs = [*(each for each in self.runs if alike(each, run)), run]

    @property
    def settled(self) -> bool:
        """Whether there are enough runs, and the medians of their times are plausible."""
        return len(self.runs) >= LEAST and not self._noise()

    def _noise(self) -> str | None:
        times = median_times(self.runs)
        return explain_noise(times, times.baseline) if times.baseline else None

    def typical(self) -> Trace:
        """Return the run whose total time is nearest to that of the medians."""
        middle = summary(median_times(self.runs))["total_seconds"]
        return min(self.runs, key=lambda run: abs(summary(run)["total_seconds"] - middle))

    def repeats(self) -> Repeats:
        """Return what the page says about the repetitions."""
        return Repeats(median_times(self.runs), len(self.runs))
