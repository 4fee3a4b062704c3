"""Live jobs: queue tasks, let them compute in turns, and stream or return their output.

A job lives in its own asyncio task; all jobs compute in one thread, one after the other. Visitors
share the weights and the queue. A listener may leave at any time; the job then ends after its
round. While others wait, a job computes in short turns (`time_slice`).

Why one thread: torch's OpenMP starts helper threads for every thread that computes. Once there
are more of those than cores, they sleep between operations instead of spinning, and waking them
takes longer than a small operation: a pass of the house model took 11 ms instead of 4. On ZeroGPU
(`adapters.spaces`) the thread requests a GPU for each task and receives its output.
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
from typing import Final, Protocol

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.models.load_progress import LoadStage, listening
from specviz.ui import stream
from specviz.ui.limits import LIMIT
from specviz.ui.queue import Phase, Queue, QueueFull, Ticket
from specviz.ui.request import HOUSE
from specviz.ui.stream import BaselineNext, Paced, Stream, error, explained, log
from specviz.ui.task import Failure, JobContext, Machine, Task, perform
from specviz.ui.time_slice import SlicedJob, Steps, too_long

LOOK: Final = 0.4  # seconds between two polls of a load's progress

Work = Callable[[Ticket, Stream], Steps]  # runs in this process and writes to the stream
Transform = Callable[[str], str]  # a text of the task -> its text for the page


class Cached(Protocol):
    """A cache of one task's output."""

    def recall(self, nonce: str) -> str:
        """Return the cached output; empty if there is none."""

    def learn(self, output: str) -> None:
        """Keep the complete output."""


class Worker:
    """Runs jobs on one machine, one at a time."""

    def __init__(self, machine: Machine, limit: float = LIMIT) -> None:
        """Set the machine and the limit: seconds for which a job may compute, or inf."""
        self.machine = machine
        self.limit = limit
        self.line = Queue()
        self._thread = ThreadPoolExecutor(1, "models")
        self._stage: LoadStage | None = None  # of the load under way in that thread
        self._under_way: set[asyncio.Task[None]] = set()  # asyncio itself holds tasks weakly

    def texts(
        self,
        task: Task,
        visitor: str,
        number: float,
        transform: Transform = str,
        cached: Cached | None = None,
    ) -> AsyncGenerator[str, None]:
        """Stream the output of a task; each text repeats all output so far.

        If the generator is closed early, the task ends after its round.

        Args:
            task: The task.
            visitor: Who requests it.
            number: The number of the request on the page.
            transform: Converts each text of the task for the page, in this process.
            cached: Queried at the task's first turn, and given the complete output.
        """
        work = partial(self._stream, task, transform)
        return self.story(visitor, number, partial(recall, cached, work) if cached else work)

    async def story(self, visitor: str, number: float, work: Work) -> AsyncGenerator[str, None]:
        """Stream the output of a job that needs no models; each text repeats all output so far.

        If the generator is closed early, the job is stopped. Work with models is a task: see
        `texts`.

        Args:
            visitor: Who requests it.
            number: The number of the request on the page.
            work: Called at its first turn, in the thread that all jobs share. It checks
                `Ticket.unwanted` between its steps, and an exception becomes the last line.
        """
        loop = asyncio.get_running_loop()
        texts: asyncio.Queue[str | None] = asyncio.Queue()

        def send(text: str) -> None:
            loop.call_soon_threadsafe(texts.put_nowait, text)

        output = Stream(f"{number:.0f}", send)
        try:
            ticket = self.line.join(visitor, number)
        except QueueFull as problem:
            yield error(str(problem), output.nonce)
            return
        job = SlicedJob(run_to_end(work, ticket, output, self.limit))
        turns = self._start(ticket, job, output)
        turns.add_done_callback(lambda _: texts.put_nowait(None))
        try:
            while (text := await texts.get()) is not None:
                yield text
        finally:
            ticket.stop()

    async def whole(self, task: Task, visitor: str) -> str:
        """Return the whole output of a task, as far as it came within its time limit.

        Raises:
            QueueFull: If too many jobs wait.
            gr.Error: With a sentence, if the task was stopped, refused or failed.
        """
        ticket = self.line.join(visitor)
        texts: list[str] = []

        def work() -> Steps:
            for text in self._perform(task, "", ticket):
                texts.append(text)
                yield phase_after(text, bool(text))
            if ticket.stopped and not ticket.overdue:
                raise gr.Error("The run was stopped.", print_exception=False)
            if ticket.stopped and not texts:
                raise gr.Error(too_long(self.limit), print_exception=False)

        try:
            await asyncio.shield(self._start(ticket, SlicedJob(work())))
        except gr.Error:
            raise
        except Exception as problem:
            raise gr.Error(explained(problem), print_exception=False) from problem
        finally:
            ticket.stop()
        return "".join(texts)

    def _start(
        self, ticket: Ticket, job: SlicedJob, output: Stream | None = None
    ) -> asyncio.Task[None]:
        """Start a job's turns as a task that is not cancelled when its listener leaves."""
        task = asyncio.create_task(self._take_turns(ticket, job, output))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, in case the listener has left

    async def _take_turns(self, ticket: Ticket, job: SlicedJob, output: Stream | None) -> None:
        """Wait in the queue and compute, turn by turn, until the job is over.

        The context goes along: in it is the request, by which a GPU is lent to its visitor.
        """
        left, context, seconds = self.limit, copy_context(), None
        try:
            while True:
                await self._wait(ticket, job, output)
                start = monotonic()
                over = await self._turn(ticket, job, left, context, output)
                seconds = monotonic() - start
                left -= seconds
                if over:
                    return
                self._give_way(ticket, job, seconds, output)
                seconds = None
        finally:
            self.line.leave(ticket, seconds)

    async def _wait(self, ticket: Ticket, job: SlicedJob, output: Stream | None) -> None:
        """Wait for the next turn, and send the position meanwhile."""
        async for position in self.line.wait(ticket):
            if output is not None:
                output.queued(position)
        if output is not None and job.begun and not self.line.someone_waits:
            output.resumed()

    async def _turn(
        self,
        ticket: Ticket,
        job: SlicedJob,
        left: float,
        context: Context,
        output: Stream | None,
    ) -> bool:
        """Compute one turn of a job that has so many seconds left; whether the job is over."""
        loop = asyncio.get_running_loop()
        # A job that was stopped before it began computes nothing, and need not wait to say so.
        thread = self._thread if job.begun or not ticket.stopped else None
        timer = None if left == inf else loop.call_later(left, ticket.run_out)
        following = asyncio.create_task(self._follow(output))
        try:
            others = partial(self._others_wait, ticket)
            return await loop.run_in_executor(thread, context.run, self._compute, job, others)
        finally:
            following.cancel()
            if timer is not None:
                timer.cancel()

    async def _follow(self, output: Stream | None) -> None:
        """Poll and send the progress of the load that a job waits for, which may be another's."""
        while output is not None:
            await asyncio.sleep(LOOK)
            output.loading(lambda: self._stage)

    def _compute(self, job: SlicedJob, others: Callable[[], bool]) -> bool:
        """Compute one turn in the thread that all jobs share; return whether the job is over."""
        with listening(self._show):
            return job.take_turn(others)

    def _show(self, stage: LoadStage | None) -> None:
        """Store a load's stage for the jobs that wait for it."""
        self._stage = stage

    def _others_wait(self, ticket: Ticket) -> bool:
        """Whether this job should end its turn for another; a stopped one is about to end."""
        return not ticket.stopped and self.line.someone_waits

    def _give_way(
        self, ticket: Ticket, job: SlicedJob, seconds: float, output: Stream | None
    ) -> None:
        """End a turn. If rounds were sent, the job pauses while the page draws them."""
        draws = output is not None and output.flush() and stream.DRAWING > 0
        self.line.give_way(ticket, job.phase, seconds, draws)
        if draws:
            asyncio.get_running_loop().call_later(stream.DRAWING, self.line.drawn, ticket)

    def _stream(self, task: Task, transform: Transform, ticket: Ticket, output: Stream) -> Steps:
        """Compute a task and send its output."""
        if ZEROGPU and not ticket.stopped:
            output.say("lending", seconds=round(task.seconds))
        for text in self._perform(task, output.nonce, ticket):
            if isinstance(text, Paced):
                output.hold(text)
            elif text:
                output.write(transform(text))
            yield phase_after(text, output.begun)

    def _perform(self, task: Task, nonce: str, ticket: Ticket) -> Iterator[str]:
        """Yield the texts of a task, none if it was stopped. Raises gr.Error for a Failure."""
        if ticket.unwanted():
            return
        with closing(perform(JobContext(self.machine, nonce, ticket.stop_flag), task)) as texts:
            for text in texts:
                if isinstance(text, Failure):
                    raise gr.Error(text, print_exception=False)
                yield text

    def warm_up(self) -> None:
        """Start to load the house models, so that the first visitor need not wait."""
        self._thread.submit(self._preload, ["draft-model", "ngram"])

    def _preload(self, drafters: Iterable[str]) -> None:
        with listening(self._show):
            preload(self.machine, drafters)


def preload(machine: Machine, drafters: Iterable[str]) -> None:
    """Load the house target and these drafters; failures go to the log."""
    for name in drafters:
        try:
            machine.load(HOUSE, [name])
        except Exception as problem:  # no job waits for it
            log.warning("%s", explained(problem))


def phase_after(text: str, begun: bool) -> Phase | None:
    """Return the phase of a job after this text. begun: whether it has sent output."""
    if isinstance(text, BaselineNext):
        return Phase.BASELINE
    return Phase.DRAFTING if begun else None


def run_to_end(work: Work, ticket: Ticket, output: Stream, limit: float) -> Steps:
    """Do a job and send how it ended: done, stopped, at its time limit, or with an error."""
    try:
        yield from work(ticket, output)
        output.resumed()
        if ticket.overdue:
            output.say("overdue", seconds=round(limit))
        else:
            output.say("stopped" if ticket.stopped else "done")
    except Exception as problem:
        output.fail(problem)


def recall(cached: Cached, work: Work, ticket: Ticket, output: Stream) -> Steps:
    """Send the cached output; without one, do the job and cache its output."""
    if text := cached.recall(output.nonce):
        output.write(text)
        return
    yield from work(ticket, output)
    if not ticket.stopped:
        output.release()
        cached.learn(output.text)
