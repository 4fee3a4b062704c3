"""End the program at once on Ctrl-C and SIGTERM, with one sentence and the usual exit status.

It does not wait for a model that is loading: that thread cannot be stopped, and Python would wait
for it while the modules that it needs are torn down. Standard library only, so that it works while
everything else is still being imported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Told(BaseException):
    """Raised by a signal that ends the program. `except Exception` does not catch it."""


@contextmanager
def told_to_end() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the work inside and end the process, with status 130 or 143.

    SIGTERM needs a handler: in a container the program is process 1, which Linux does not end
    without one.
    """
    received: list[int] = []

    def tell(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise Told

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, tell) for number in numbers]
    try:
        yield
    except BaseException:  # compiled code may have wrapped Told in an exception of its own
        if not received:
            raise
        print("specviz: Stopped.", file=sys.stderr)
        sys.stdout.flush()
        os._exit(128 + received[0])
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
