"""Stop flags of jobs: one byte each, in memory shared with forked worker processes.

A job is pickled on its way to such a process, and nothing can be sent to it afterwards, so a flag
travels as the index of its byte. Within one process it is a flag like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from mmap import mmap
from typing import Final

BYTES: Final = mmap(-1, 4096)  # anonymous memory, which a fork shares and does not copy
NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class StopFlag:
    """The stop flag of one job, initially not set.

    Attributes:
        index: Index of its byte, which is reused thousands of jobs later.
    """

    index: int = field(default_factory=lambda: next(NUMBERS) % len(BYTES))

    def set(self, wanted: bool) -> None:
        """Set or clear the flag."""
        BYTES[self.index] = wanted

    def __call__(self) -> bool:
        """Whether the job should end; it checks this between its steps."""
        return bool(BYTES[self.index])
