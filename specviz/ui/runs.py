"""Live runs: a form in, the player's lines out, a stop when it is asked for.

A run lives in its own generator. What visitors share is the weights, and a table of who asked to
stop which of their own runs.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Final

from specviz.trace import Event
from specviz.ui.choices import Choices
from specviz.ui.reel import error, lines

FIRST: Final = 2  # lines sent at once: the run, the prefill, the first round
PAUSE: Final = 0.5  # seconds between later sendings: each takes time from the run it tells of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where live runs compute."""

    device: str | None = None
    dtype: str | None = None


@dataclass
class Stops:
    """Who asked to stop which run. A visitor's runs are numbered upwards by the page."""

    asked: dict[str, float] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)

    def begin(self, visitor: str) -> None:
        """A run of this visitor has started."""
        self.running.add(visitor)

    def ask(self, visitor: str, run: float) -> None:
        """The visitor wants the run of this number, begun or still waiting, to end."""
        self.asked[visitor] = max(run, self.asked.get(visitor, run))

    def stopped(self, visitor: str, run: float) -> bool:
        """Whether this run should end."""
        return self.asked.get(visitor, -inf) >= run

    def leave(self, visitor: str) -> None:
        """The visitor closed the page: what still runs for it should end."""
        if visitor in self.running:
            self.asked[visitor] = inf
        else:
            self.asked.pop(visitor, None)

    def end(self, visitor: str, run: float) -> None:
        """The run is over; what was asked of it is forgotten."""
        self.running.discard(visitor)
        if self.asked.get(visitor, -inf) in (run, inf):
            del self.asked[visitor]


class Runs:
    """Makes live runs on one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.stops = Stops()

    def texts(self, choices: Choices, visitor: str, run: float) -> Iterator[str]:
        """The lines of a run so far, growing; or one line that says why there is none.

        Not every line is sent by itself: sending and painting take cores that the run is timed on.
        """
        told = ""
        nonce = f"{run:.0f}"
        self.stops.begin(visitor)
        try:
            with closing(self._events(choices, visitor, run)) as events:
                sent, known = -inf, ""
                for number, line in enumerate(lines(events, "live", nonce)):
                    told += line
                    if number <= FIRST or perf_counter() - sent > PAUSE:
                        yield told
                        sent, known = perf_counter(), told
            if told != known:
                yield told
        except ValueError as problem:  # every refusal is one, with a sentence for people
            yield told + error(str(problem), nonce)
        except Exception as problem:
            log.exception("a live run broke")
            yield told + error(broke(problem), nonce)
        finally:
            self.stops.end(visitor, run)

    def _events(self, choices: Choices, visitor: str, run: float) -> Generator[Event, None, None]:
        settings, prompt = choices.settings(), choices.text()
        # Imported late: the page is up, and recorded runs play, before torch is.
        from specviz import engine
        from specviz.catalog.loading import load

        target, drafter = load(*choices.models(), self.machine.device, self.machine.dtype)

        def stop() -> bool:
            return self.stops.stopped(visitor, run)

        yield from engine.run(target, drafter, prompt, settings, stop=stop)

    def warm_up(self) -> None:
        """Load the house's models, so that the first visitor need not wait for it."""
        try:
            from specviz.catalog.loading import load

            for drafter in ("draft-model", "ngram"):
                load("house", drafter, self.machine.device, self.machine.dtype)
        except ValueError as problem:
            log.warning("%s", problem)


def broke(problem: Exception) -> str:
    """What to tell a visitor about a fault that is no refusal."""
    from specviz.devices import ran_out_of_memory

    if ran_out_of_memory(problem):
        return "The machine ran out of memory in this run. Fewer new tokens, or a smaller model."
    return "Something broke in this run. The server's log says what; try another."
