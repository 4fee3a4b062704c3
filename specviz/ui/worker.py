"""Live runs: a task in; what it tells as it grows, or the whole of it, out; after a wait in line.

A run lives in its own asyncio task; all runs compute in one thread, one after the other. What
visitors share is the weights and the line; who listens may go at any time, and the run then ends
after its round. A long one gives way to those who wait (`share`), and goes on after them.

Why one thread: torch's OpenMP gives each thread that computes helpers of its own. Once there are
more of those than cores, they sleep between operations instead of waiting, and waking them takes
longer than a small operation: a pass of the house model took 11 ms instead of 4. Where a GPU is
lent for each task (`adapters.spaces`), the thread asks for it and listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import Context, copy_context
from functools import partial
from math import inf
from time import monotonic
from typing import Protocol

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.ui.limits import LIMIT
from specviz.ui.queue import Queue, QueueFull, Ticket
from specviz.ui.request import HOUSE
from specviz.ui.share import Steps
from specviz.ui.stream import Stream, error, explained, log
from specviz.ui.task import Desk, Failure, Machine, Task, perform

Work = Callable[[Ticket, Stream], Iterator[None]]  # a job in this process, and whom it tells
Heard = Callable[[str], str]  # what a task yields -> what is told of it


class Known(Protocol):
    """What may be known already of a task that is asked."""

    def told(self, nonce: str) -> str:
        """What the task would tell, once more; empty where that is not known."""

    def learn(self, told: str) -> None:
        """This is what it told, to its end."""


class Worker:
    """Makes live runs on one machine, one at a time."""

    def __init__(self, machine: Machine, limit: float = LIMIT) -> None:
        """limit: seconds for which a job may compute; inf for what need not end."""
        self.machine = machine
        self.limit = limit
        self.line = Queue()
        self._thread = ThreadPoolExecutor(1, "models")
        self._under_way: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly

    def texts(
        self,
        task: Task,
        visitor: str,
        number: float,
        heard: Heard = str,
        known: Known | None = None,
    ) -> AsyncGenerator[str, None]:
        """The story of a task so far, growing. Closed early, the task ends after its round.

        heard: makes of each text that the task yields what the page is told, in this process.
        known: asked at the task's turn, and told what came of it.
        """
        work = partial(self._tell, task, heard)
        return self.story(visitor, number, partial(remembered, known, work) if known else work)

    async def story(self, visitor: str, number: float, work: Work) -> AsyncGenerator[str, None]:
        """What a job in the line says so far, growing. Closed early, the job is stopped.

        work: called at its turn, in the thread of all runs, for its steps; it asks
        `Ticket.unwanted` between its parts, and what it raises becomes the last line. What computes
        with models is no such work but a task: see `texts`.
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
        steps = Steps(ended(work, ticket, story, self.limit))
        turn = self._start(ticket, steps, story.queued)
        turn.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (text := await heard.get()) is not None:
                yield text
        finally:
            ticket.stop()

    async def whole(self, task: Task, visitor: str) -> str:
        """All that a task tells, once it is over: as far as it came within its limit of time.

        Raises QueueFull; gr.Error where the task was stopped, refused or broke: with a sentence.
        """
        ticket = self.line.join(visitor)
        made: list[str] = []

        def work() -> Iterator[None]:
            for text in self._perform(task, "", ticket):
                made.append(text)
                yield
            if ticket.stopped and not ticket.overdue:
                raise gr.Error("The run was stopped.", print_exception=False)

        try:
            await asyncio.shield(self._start(ticket, Steps(work()), void))
        except gr.Error:
            raise
        except Exception as problem:
            raise gr.Error(explained(problem), print_exception=False) from problem
        finally:
            ticket.stop()
        return "".join(made)

    def _start(
        self,
        ticket: Ticket,
        steps: Steps,
        queued: Callable[[int], object],
    ) -> asyncio.Task[None]:
        """The turns of a ticket as a task that no listener's end can cancel."""
        task = asyncio.create_task(self._turns(ticket, steps, queued))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # taken note of, where the listener has gone

    async def _turns(self, ticket: Ticket, steps: Steps, queued: Callable[[int], object]) -> None:
        """Wait in line, then work in the thread; the line moves up when that is done.

        A job that gave way waits again. The context goes along: in it is the request, by which a
        GPU is lent to its visitor.
        """
        left, context = self.limit, copy_context()
        try:
            over = False
            while not over:
                async for ahead in self.line.wait(ticket):
                    queued(ahead)
                if steps.begun and not ticket.stopped:
                    queued(0)
                begun = monotonic()
                over = await self._turn(ticket, steps, left, context)
                left -= monotonic() - begun
                if not over:
                    self.line.give_way(ticket)
        finally:
            self.line.leave(ticket)

    async def _turn(self, ticket: Ticket, steps: Steps, left: float, context: Context) -> bool:
        """One turn of a job, which has so many seconds left; whether the job is over."""
        loop = asyncio.get_running_loop()
        # One who has gone computes nothing, and need not wait to hear so, unless it is under way.
        thread = self._thread if steps.begun or not ticket.stopped else None
        last = None if left == inf else loop.call_later(left, ticket.run_out)
        try:
            go_on = partial(steps.go_on, lambda: self.line.someone_waits)
            return await loop.run_in_executor(thread, context.run, go_on)
        finally:
            if last is not None:
                last.cancel()

    def _tell(self, task: Task, heard: Heard, ticket: Ticket, story: Stream) -> Iterator[None]:
        if ZEROGPU and not ticket.stopped:
            story.say("lending", seconds=round(task.seconds))
        for text in self._perform(task, story.nonce, ticket):
            story.tell(heard(text))
            yield

    def _perform(self, task: Task, nonce: str, ticket: Ticket) -> Iterator[str]:
        """What a task tells; nothing where it was stopped before. Raises gr.Error for a Failure."""
        if ticket.unwanted():
            return
        with closing(perform(Desk(self.machine, nonce, ticket.halt), task)) as texts:
            for text in texts:
                if isinstance(text, Failure):
                    raise gr.Error(text, print_exception=False)
                yield text

    def warm_up(self) -> None:
        """Begin to load the house's models, so that the first visitor need not wait for it."""
        self._thread.submit(preload, self.machine, ["draft-model", "ngram"])


def preload(machine: Machine, drafters: Iterable[str]) -> None:
    """Load the house's target and these drafters; of what cannot be loaded the log says why."""
    for name in drafters:
        try:
            machine.load(HOUSE, [name])
        except Exception as problem:  # nobody waits for what it gives
            log.warning("%s", explained(problem))


def ended(work: Work, ticket: Ticket, story: Stream, limit: float) -> Iterator[None]:
    """Do a job and tell how it ended: done, stopped, at its limit of seconds, or why it broke."""
    try:
        yield from work(ticket, story)
        if ticket.overdue:
            story.say("overdue", seconds=round(limit))
        else:
            story.say("stopped" if ticket.stopped else "done")
    except Exception as problem:
        story.fail(problem)


def remembered(known: Known, work: Work, ticket: Ticket, story: Stream) -> Iterator[None]:
    """What is known already is told at once; else the job is done, and known from now on."""
    if told := known.told(story.nonce):
        story.tell(told)
        return
    yield from work(ticket, story)
    if not ticket.stopped:
        known.learn(story.told)


def void(_: object) -> None:
    """Nobody listens."""
