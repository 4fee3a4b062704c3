"""How the program ends when it is told to: at once, in a sentence, with the status a shell expects.

Rule: nothing waits for a model that is being read. A thread that reads one cannot be stopped, and
Python would wait for it, while what it needs is taken away from under it. Standard library only, so
that this holds while the rest is still being imported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Told(BaseException):
    """A signal said that the program should end; nothing on the way may take it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def tell(number: int, _: FrameType | None) -> None:
    """What a signal does. Raises Told."""
    raise Told(number)


@contextmanager
def told_to_end() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM unwind what is under way and end the process: status 130, 143.

    SIGTERM too: in a container the program is process 1, which Linux ends only if it has a handler.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tell)
    try:
        yield
    except Told as told:
        print("specviz: Stopped.", file=sys.stderr)
        sys.stdout.flush()
        os._exit(128 + told.number)
