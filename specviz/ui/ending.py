"""End the program immediately on Ctrl-C and SIGTERM, with a sentence and an exit status.

A thread that reads a model cannot be stopped, and at its normal end Python would wait for it while
the modules that it needs are removed. So the process ends without waiting. Standard library only,
so that this works while everything else is still being imported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class EndRequested(BaseException):
    """Raised by a signal to end the program; `except Exception` does not catch it."""


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM end the process with status 130 or 143 inside this context.

    SIGTERM needs a handler, because in a container the program is process 1, for which Linux
    ignores signals without a handler.
    """
    received: list[int] = []

    def request_end(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise EndRequested

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request_end) for number in numbers]
    try:
        yield
    except BaseException:  # compiled code may have wrapped EndRequested in another exception
        if not received:
            raise
        print("specviz: Stopped.", file=sys.stderr)
        sys.stdout.flush()
        os._exit(128 + received[0])
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
