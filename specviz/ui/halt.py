"""Whether the job that computes should end: a byte that a process forked from the page's shares.

What a job is asked is pickled on its way to such a process, and nothing can be sent after it; a
Halt travels as the number of its byte. In one process it is a flag like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from mmap import mmap
from typing import Final

BYTES: Final = mmap(-1, 4096)  # anonymous memory, which a fork shares and does not copy
NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Halt:
    """One for each job, which says at its start that nothing is asked.

    place: of its byte, which another job has again thousands of jobs later.
    """

    place: int = field(default_factory=lambda: next(NUMBERS) % len(BYTES))

    def put(self, wanted: bool) -> None:
        """Ask the job to end, or ask nothing of it."""
        BYTES[self.place] = wanted

    def __call__(self) -> bool:
        """Whether it should end: what a job asks between its parts."""
        return bool(BYTES[self.place])
