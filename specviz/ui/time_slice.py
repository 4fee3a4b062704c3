"""Turns of a job: it computes for a short time while others wait, and up to a limit in all.

Rule: a job is a generator, and its turn ends only between two of its steps. Every clock of a run is
stopped there, so measured times never include waiting. On ZeroGPU a GPU is requested for one whole
job, so no job is interrupted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

from specviz.adapters.spaces import ZEROGPU
from specviz.ui import stream
from specviz.ui.queue import Phase

SLICE: Final = 0.2  # seconds of a turn while others wait
FIRST_TURN: Final = 2.0  # seconds of a turn of a job that has shown nothing yet

Steps = Iterator[Phase | None]  # by step of a job, its new phase; None: unchanged


class SlicedJob:
    """A job that computes in turns. phase: its present phase."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._threads: int | None = None
        self.begun = False
        self.phase = Phase.FIRST_ROUND

    def take_turn(self, others: Callable[[], bool]) -> bool:
        """Compute until the job is over (True) or its turn is (False).

        others: whether another job waits. Raises what the job raises.
        """
        self.begun = True
        self._restore_threads()
        start = monotonic()
        for reached in self._steps:
            changed = reached is not None and reached > self.phase
            if reached is not None and changed:
                self.phase = reached
            if not ZEROGPU and (changed or self._ends(monotonic() - start, others)):
                self._threads = threads_now()
                return False
        return True

    def _ends(self, seconds: float, others: Callable[[], bool]) -> bool:
        """Whether the turn ends after this many seconds."""
        if self.phase is not Phase.FIRST_ROUND:
            # After PAUSE the output is flushed, whether or not others wait.
            return seconds >= stream.PAUSE or (seconds >= SLICE and others())
        if seconds < FIRST_TURN or not others():
            return False
        self.phase = Phase.DRAFTING
        return True

    def _restore_threads(self) -> None:
        """Restore the last turn's thread count, so that a job's measurements are comparable."""
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._threads)


def threads_now() -> int:
    """Return the number of threads that torch uses now."""
    import torch

    return torch.get_num_threads()


def format_duration(seconds: float) -> str:
    """Seconds in words: "5 minutes", "90 seconds"."""
    whole = round(seconds)
    number, unit = (whole // 60, "minute") if whole % 60 == 0 else (whole, "second")
    return f"{number:,} {unit}{'s' if number != 1 else ''}"


def too_long(limit: float) -> str:
    """Return the sentence for a job without any output. limit: its seconds of computing."""
    most = format_duration(limit)
    return f"The run ended before its first result: a job may compute for {most} at most here."


def limit_text(limit: float) -> str:
    """Return the note on the time limit before a job. limit: its seconds of computing."""
    turns = "" if ZEROGPU else ", in short turns while others wait"
    most = f"A job may compute for {format_duration(limit)} at most here"
    return f"{most}{turns}. What is finished by then is kept."
