"""Live runs: a wish in; the player's lines or a trace out, after a wait in line.

A run lives in its own task; all runs compute in one thread, one after the other. What visitors
share is the weights and the line; who listens may go at any time, and the run then ends after its
round.

Why one thread: torch's OpenMP gives each thread that computes helpers of its own. Once there are
more of those than cores, they sleep between operations instead of waiting, and waking them takes
longer than a small operation: a pass of the house model took 11 ms instead of 4.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Final

from specviz.trace import Event, dumps
from specviz.ui.line import Line, LineFull, Ticket
from specviz.ui.reel import error, line, lines
from specviz.ui.wish import HOUSE, Wish

if TYPE_CHECKING:
    from specviz.drafters.base import Drafter
    from specviz.target import Target

FIRST: Final = 2  # the line that is sent at once with those before it: the first round
PAUSE: Final = 1.0  # seconds between later sendings
DRAWING: Final = 0.3  # seconds that a browser may take to draw what it was sent, and cores for it

Work = Callable[[Ticket, "Story"], None]  # a job, and whom it tells

log = logging.getLogger(__name__)


class Stopped(ValueError):
    """The run was stopped before its end."""


class Broke(ValueError):
    """Something broke that no check foresaw; the log has it, the message is for people."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where live runs compute."""

    device: str | None = None
    dtype: str | None = None


class Story:
    """One job as the page hears it: text that only grows, lines of JSON, states among them.

    States say what the visitor waits for: "queued" (place: how many runs come first), "loading",
    "drafting". The last line is the state "done" or "stopped", or an error's sentence.
    """

    def __init__(self, nonce: str, send: Callable[[str], None]) -> None:
        self.nonce = nonce
        self._send = send
        self._told = ""

    def queued(self, ahead: int) -> None:
        """So many runs come first."""
        self.say("queued", place=ahead)

    def say(self, state: str, **more: int) -> None:
        """A state, sent at once."""
        self.tell(line("state", {"state": state, "id": self.nonce} | more))

    def fail(self, problem: Exception) -> None:
        """Why there is no run, or no more of it."""
        self.tell(error(explained(problem), self.nonce))

    def run(self, told: Iterable[str]) -> None:
        """The run's lines: the first round at once, later ones several at a time.

        Nothing is computed while the page draws, since it may do so on the cores that are timed;
        all clocks are closed between lines.
        """
        sent = perf_counter()
        for number, text in enumerate(told):
            self._told += text
            if number == FIRST or perf_counter() - sent > PAUSE:
                self._send(self._told)
                sleep(DRAWING)
                sent = perf_counter()

    def tell(self, text: str) -> None:
        """Whole lines, sent at once."""
        self._told += text
        self._send(self._told)


class Runs:
    """Makes live runs on one machine, one at a time."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.line = Line()
        self._thread = ThreadPoolExecutor(1, "models")
        self._under_way: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly

    def texts(self, wish: Wish, visitor: str, number: float) -> AsyncGenerator[str, None]:
        """The story of a run so far, growing. Closed early, the run ends after its round."""
        return self.story(visitor, number, partial(self._run, wish))

    async def story(self, visitor: str, number: float, work: Work) -> AsyncGenerator[str, None]:
        """What a job in the line says so far, growing. Closed early, the job is stopped.

        work: called at its turn, in the thread of all runs; it asks `Ticket.unwanted` between its
        parts, and what it raises becomes the last line.
        """
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[str | None] = asyncio.Queue()

        def send(text: str) -> None:
            loop.call_soon_threadsafe(heard.put_nowait, text)

        story = Story(f"{number:.0f}", send)
        try:
            ticket = self.line.join(visitor, number)
        except LineFull as problem:
            yield error(str(problem), story.nonce)
            return
        turn = self._start(ticket, partial(ended, work, ticket, story), story.queued)
        turn.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (text := await heard.get()) is not None:
                yield text
        finally:
            ticket.stop()

    async def trace(self, wish: Wish, visitor: str) -> str:
        """A whole run as the text of a trace file.

        Raises LineFull, Stopped, Broke, or the refusal of a model or the engine: all ValueErrors
        with a sentence.
        """
        ticket = self.line.join(visitor)
        made: list[str] = []
        try:
            work = partial(self._write, wish, ticket, made)
            await asyncio.shield(self._start(ticket, work, void))
        except ValueError:
            raise
        except Exception as problem:
            raise Broke(explained(problem)) from problem
        finally:
            ticket.stop()
        return "".join(made)

    def _start(
        self,
        ticket: Ticket,
        work: Callable[[], None],
        queued: Callable[[int], object],
    ) -> asyncio.Task[None]:
        """The turn of a ticket as a task that no listener's end can cancel."""
        task = asyncio.create_task(self._turn(ticket, work, queued))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # taken note of, where the listener has gone

    async def _turn(
        self, ticket: Ticket, work: Callable[[], None], queued: Callable[[int], object]
    ) -> None:
        """Wait in line, then work in the thread; the line moves up when that is done."""
        try:
            async for ahead in self.line.wait(ticket):
                queued(ahead)
            # one who has gone computes nothing, and need not wait to hear so
            thread = None if ticket.stopped else self._thread
            await asyncio.get_running_loop().run_in_executor(thread, work)
        finally:
            self.line.leave(ticket)

    def _run(self, wish: Wish, ticket: Ticket, story: Story) -> None:
        with closing(self._events(wish, ticket, story.say)) as events:
            story.run(lines(events, "live", story.nonce, (wish.target, wish.drafter)))

    def _write(self, wish: Wish, ticket: Ticket, made: list[str]) -> None:
        with closing(self._events(wish, ticket, void)) as events:
            made.extend(dumps(event) + "\n" for event in events)
        if ticket.stopped:
            raise Stopped("The run was stopped.")

    def _events(
        self, wish: Wish, ticket: Ticket, say: Callable[[str], object]
    ) -> Generator[Event, None, None]:
        """The run itself; nothing of it where it was stopped before."""
        if ticket.unwanted():
            return
        say("loading")
        target, (drafter,) = self.load(wish.target, [wish.drafter])
        if ticket.unwanted():
            return
        say("drafting")
        from specviz import engine

        stop = ticket.unwanted
        yield from engine.run(target, drafter, wish.prompt, wish.settings, stop=stop)

    def load(self, target: str, drafters: Sequence[str]) -> tuple[Target, list[Drafter]]:
        """The loaded models, drafters in the order asked for. Raises the catalogue's refusals.

        In the thread of all runs.
        """
        from specviz.catalog.loading import load_drafter, load_target  # the page is up before torch

        loaded = load_target(target, self.machine.device, self.machine.dtype)
        return loaded, [load_drafter(name, loaded) for name in drafters]

    def warm_up(self) -> None:
        """Begin to load the house's models, so that the first visitor need not wait for it."""
        self._thread.submit(self._warm_up)

    def _warm_up(self) -> None:
        try:
            self.load(HOUSE, ["draft-model", "ngram"])
        except Exception as problem:  # nobody waits for what it gives
            log.warning("%s", explained(problem))


def ended(work: Work, ticket: Ticket, story: Story) -> None:
    """Do a job and tell how it ended: done, stopped, or why it broke."""
    try:
        work(ticket, story)
        story.say("stopped" if ticket.stopped else "done")
    except Exception as problem:
        story.fail(problem)


def void(_: object) -> None:
    """Nobody listens."""


def explained(problem: Exception) -> str:
    """What to tell a visitor: a refusal's own sentence; anything else goes to the log."""
    if isinstance(problem, ValueError):  # every refusal is one, with a sentence for people
        return str(problem)
    log.error("a live run broke", exc_info=problem)
    return broke(problem)


def broke(problem: Exception) -> str:
    """What to tell a visitor about a fault that is no refusal."""
    from specviz.devices import ran_out_of_memory

    if ran_out_of_memory(problem):
        return "The machine ran out of memory in this run. Fewer new tokens, or a smaller model."
    return "Something broke in this run. The server's log says what; try another."
