"""A job: a task that computes in turns until it is done or its time limit is reached.

Turns are short while other jobs wait. A turn ends only between two texts of the task. All clocks of
a run are stopped then, so measured times never include waiting. On ZeroGPU, a GPU is requested for
a whole job, so a job has only one turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.ui import stream
from specviz.ui.queue import Phase, Ticket
from specviz.ui.stream import BaselineNext, Paced, Stream
from specviz.ui.task import Failure, JobContext, Machine, Task, perform

SLICE: Final = 0.2  # seconds of a turn while others wait
FIRST_TURN: Final = 2.0  # seconds of a turn of a job that has not shown anything yet


class Job:
    """A task with its ticket in the queue and its output.

    Attributes:
        left: Seconds for which it may still compute.
        begun: Whether it has had a turn.
    """

    def __init__(
        self, task: Task, ticket: Ticket, output: Stream, machine: Machine, limit: float
    ) -> None:
        self.ticket = ticket
        self.output = output
        self.left = self._limit = limit
        self.begun = False
        self.phase = Phase.FIRST_ROUND
        self._task = task
        self._context = JobContext(machine, output.nonce, ticket.stop_flag)
        self._texts: Iterator[str] | None = None
        self._threads: int | None = None

    def take_turn(self, others: Callable[[], bool]) -> bool:
        """Compute until the turn ends; return whether the job is over.

        Exceptions of the task are sent as the last line. others: returns whether another job waits.
        """
        start = monotonic()
        try:
            texts = self._begin() if self._texts is None else self._texts
            self._restore_threads()
            for text in texts:
                if isinstance(text, Failure):
                    raise gr.Error(text, print_exception=False)
                self.output.write(text if isinstance(text, Paced) else self._task.transform(text))
                if not ZEROGPU and self._ends(text, monotonic() - start, others):
                    self._threads = threads_now()
                    return False
            self._finish()
        except BaseException as problem:  # such as a panic of a tokenizer, which is no Exception
            self.output.fail(problem)
        return True

    def _begin(self) -> Iterator[str]:
        self.begun = True
        if self.ticket.stopped:
            self._texts = iter(())
        else:
            if ZEROGPU:
                self.output.say("lending", seconds=round(self._task.seconds))
            self._texts = perform(self._context, self._task)
        return self._texts

    def _ends(self, text: str, seconds: float, others: Callable[[], bool]) -> bool:
        reached = Phase.DRAFTING if self.output.begun else Phase.FIRST_ROUND
        if isinstance(text, BaselineNext):
            reached = Phase.BASELINE
        if reached > self.phase:
            self.phase = reached
            return True
        if self.phase is not Phase.FIRST_ROUND:
            # After PAUSE, the output is flushed even if no others wait.
            return seconds >= stream.PAUSE or (seconds >= SLICE and others())
        if seconds < FIRST_TURN or not others():
            return False
        self.phase = Phase.DRAFTING
        return True

    def _finish(self) -> None:
        if self.ticket.overdue:
            self.output.end("overdue", seconds=round(self._limit))
        else:
            self.output.end("stopped" if self.ticket.stopped else "done")

    def _restore_threads(self) -> None:
        # As in the last turn, so that a job's measurements are comparable.
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._threads)


def threads_now() -> int:
    """Return the number of threads that torch uses now."""
    import torch

    return torch.get_num_threads()
