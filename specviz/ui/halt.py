"""A stop flag for jobs: a byte of memory shared with processes forked from the page's.

A job's arguments are pickled on their way to such a process, and nothing can be sent afterwards; a
Halt is pickled as the index of its byte. In one process it is an ordinary flag.
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
    """The stop flag of one job.

    place: The index of its byte, which is reused after thousands of jobs.
    """

    place: int = field(default_factory=lambda: next(NUMBERS) % len(BYTES))

    def put(self, wanted: bool) -> None:
        """Set or clear the flag."""
        BYTES[self.place] = wanted

    def __call__(self) -> bool:
        """Whether the job should end; jobs check this between their steps."""
        return bool(BYTES[self.place])
