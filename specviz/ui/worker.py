"""Live jobs: queue tasks, and let them compute in turns on one machine.

Each job has its own asyncio task; all jobs compute in one thread, one after the other. Visitors
share the weights and the queue. While others wait, a job computes in short turns (`job`). Gradio's
queue cannot do this: it runs each event to its end, in the order of arrival. So there is a queue of
our own (`queue`), and an event of Gradio only starts a job.

There is only one computing thread because torch's OpenMP starts helper threads for every thread
that computes. If there are more threads than cores, they sleep between operations instead of
spinning, and waking them takes longer than a small operation: a pass of House took 11 ms instead of
4. On ZeroGPU (`adapters.spaces`), the thread requests a GPU for each task and receives its output.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from math import inf
from time import monotonic
from typing import Final

import gradio as gr

from specviz.models.load_control import LoadStage, listening
from specviz.ui import stream
from specviz.ui.job import Job
from specviz.ui.limits import LIMIT
from specviz.ui.queue import PER_VISITOR, Queue
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.stream import STATE, Stream, explained, log
from specviz.ui.task import Machine, Task, too_long

LOAD_POLL: Final = 0.4  # seconds between two polls of a load's progress


class Worker:
    """Runs jobs on one machine, one at a time."""

    def __init__(self, machine: Machine, limit: float = LIMIT) -> None:
        """Set the machine and the limit, the seconds for which a job may compute (possibly inf)."""
        self.machine = machine
        self.limit = limit
        self.line = Queue()
        self._thread = ThreadPoolExecutor(1, "models")
        self._stage: LoadStage | None = None  # stage of the active load in that thread
        self._under_way: set[asyncio.Task[None]] = set()  # asyncio keeps only weak references

    def start(self, task: Task, output: Stream, most: int = PER_VISITOR) -> asyncio.Task[None]:
        """Queue a task and return its job, which is not cancelled when its reader leaves.

        The job writes to `output`, and ends soon after `output` was stopped. most: how many jobs of
        its visitor may wait or compute at the same time. Raises QueueFull if the job is not
        accepted.
        """
        ticket = self.line.join(output.visitor, most)
        output.on_stop(ticket.stop)
        job = Job(task, ticket, output, self.machine, self.limit)
        under_way = asyncio.create_task(self._take_turns(job))
        self._under_way.add(under_way)
        under_way.add_done_callback(self._under_way.discard)
        return under_way

    async def whole(self, task: Task, visitor: str, most: int = PER_VISITOR) -> str:
        """Return the output of a task, up to its time limit; see `start`.

        Raises QueueFull if too many jobs wait; gr.Error if the task was stopped, refused or failed.
        """
        output = Stream(visitor, "")
        under_way = self.start(task, output, most)
        try:
            await asyncio.shield(under_way)
        finally:
            output.stop()
        return output_of(output.lines, self.limit)

    async def _take_turns(self, job: Job) -> None:
        # The context variables contain the request, for whose visitor a GPU is lent.
        loop, seconds = asyncio.get_running_loop(), None
        others = partial(self._others_wait, job)
        with listening(self._show):
            context = copy_context()
        try:
            while True:
                await self._wait(job)
                # A job that was stopped before it began computes nothing, so it need not wait.
                thread = self._thread if job.begun or not job.ticket.stopped else None
                start = monotonic()
                with self._attending(job):
                    turn = partial(context.run, job.take_turn, others)
                    over = await loop.run_in_executor(thread, turn)
                seconds = monotonic() - start
                job.left -= seconds
                if over:
                    return
                self._give_way(job, seconds)
                seconds = None
        finally:
            self.line.leave(job.ticket, seconds)

    async def _wait(self, job: Job) -> None:
        async for position in self.line.wait(job.ticket):
            job.output.queued(position)
        if job.begun and not self.line.someone_waits:
            job.output.resumed()

    @contextmanager
    def _attending(self, job: Job) -> Iterator[None]:
        # Reports the load that the job waits for, and ends the job at its time limit.
        loop = asyncio.get_running_loop()
        timer = None if job.left == inf else loop.call_later(job.left, job.ticket.run_out)
        following = asyncio.create_task(self._follow(job.output))
        try:
            yield
        finally:
            following.cancel()
            if timer is not None:
                timer.cancel()

    async def _follow(self, output: Stream) -> None:
        # Another job may run this load.
        while True:
            await asyncio.sleep(LOAD_POLL)
            output.loading(lambda: self._stage)

    def _show(self, stage: LoadStage | None) -> None:
        self._stage = stage

    def _others_wait(self, job: Job) -> bool:
        return not job.ticket.stopped and self.line.someone_waits

    def _give_way(self, job: Job, seconds: float) -> None:
        # The job pauses while the page draws the rounds that were sent to it.
        draws = job.output.flush() and job.output.readers > 0 and stream.DRAWING > 0
        self.line.give_way(job.ticket, job.phase, seconds, draws)
        if draws:
            loop = asyncio.get_running_loop()
            loop.call_later(stream.DRAWING, self.line.drawn, job.ticket)

    def warm_up(self, first: RunRequest | None = None) -> None:
        """Start to load the House models, for the first visitor; see `rehearse`."""
        self._thread.submit(self._preload, ["draft-model", "ngram"])
        if first is not None:
            self._thread.submit(rehearse, self.machine, first)

    def _preload(self, drafters: Iterable[str]) -> None:
        with listening(self._show):
            preload(self.machine, drafters)


def output_of(lines: Sequence[str], limit: float) -> str:
    """Return the lines of a job that is over, without status lines.

    Raises gr.Error if it failed, was stopped, or reached its time limit without any output.
    """
    end = json.loads(lines[-1])
    whole = "".join(f"{line}\n" for line in lines[:-1] if not line.startswith(STATE))
    problem = end.get("sentence", "")
    if end.get("state") == "stopped":
        problem = "The run was stopped."
    elif end.get("state") == "overdue" and not whole:
        problem = too_long(limit)
    if problem:
        raise gr.Error(problem, print_exception=False)
    return whole


def preload(machine: Machine, drafters: Iterable[str]) -> None:
    """Load the target House and these drafters; errors are logged."""
    for name in drafters:
        try:
            machine.load(HOUSE, [name])
        except Exception as problem:  # no job waits for this load
            log.warning("%s", explained(problem))


def rehearse(machine: Machine, request: RunRequest) -> None:
    """Compute a run on a GPU and discard it: it loads kernels and records graphs for later runs.

    On a CPU, nothing is computed. Errors are logged.
    """
    from specviz.engine.decode import run

    try:
        target, [drafter] = machine.load(request.target, [request.drafter])
        if target.device.type == "cuda":
            for _ in run(target, drafter, request.prompt, request.settings):
                pass
    except Exception as problem:  # no job waits for this run
        log.warning("%s", explained(problem))
