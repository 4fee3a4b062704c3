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
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from specviz.trace.events import Event
from specviz.trace.file import dumps
from specviz.ui.queue import Queue, QueueFull, Ticket
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.hint import hint
from specviz.ui.step.lines import lines
from specviz.ui.stream import Stream, error, explained, log

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target

Work = Callable[[Ticket, "Stream"], None]  # a job, and whom it tells


class Stopped(ValueError):
    """The run was stopped before its end."""


class Broke(ValueError):
    """Something broke that no check foresaw; the log has it, the message is for people."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where live runs compute."""

    device: str | None = None
    dtype: str | None = None


class Worker:
    """Makes live runs on one machine, one at a time."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.line = Queue()
        self._thread = ThreadPoolExecutor(1, "models")
        self._under_way: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly

    def texts(self, wish: RunRequest, visitor: str, number: float) -> AsyncGenerator[str, None]:
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

        story = Stream(f"{number:.0f}", send)
        try:
            ticket = self.line.join(visitor, number)
        except QueueFull as problem:
            yield error(str(problem), story.nonce)
            return
        turn = self._start(ticket, partial(ended, work, ticket, story), story.queued)
        turn.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (text := await heard.get()) is not None:
                yield text
        finally:
            ticket.stop()

    async def trace(self, wish: RunRequest, visitor: str) -> str:
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

    def _run(self, wish: RunRequest, ticket: Ticket, story: Stream) -> None:
        with closing(self._events(wish, ticket, story.say)) as events:
            story.run(lines(events, "live", story.nonce, (wish.target, wish.drafter)))
        if wish.target == HOUSE and isinstance(wish.prompt, str) and not ticket.stopped:
            target, _ = self.load(HOUSE, [])
            story.hint(hint(target, wish.prompt))  # once nothing is timed any more

    def _write(self, wish: RunRequest, ticket: Ticket, made: list[str]) -> None:
        with closing(self._events(wish, ticket, void)) as events:
            made.extend(dumps(event) + "\n" for event in events)
        if ticket.stopped:
            raise Stopped("The run was stopped.")

    def _events(
        self, wish: RunRequest, ticket: Ticket, say: Callable[[str], object]
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
        from specviz.catalog.loading import load_drafter, load_target

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


def ended(work: Work, ticket: Ticket, story: Stream) -> None:
    """Do a job and tell how it ended: done, stopped, or why it broke."""
    try:
        work(ticket, story)
        story.say("stopped" if ticket.stopped else "done")
    except Exception as problem:
        story.fail(problem)


def void(_: object) -> None:
    """Nobody listens."""
