"""Drop Gradio's data of a session when its page is closed, since it is not needed later.

A session with an active event is left alone until that is over.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

import gradio as gr

from specviz.adapters.gradio import busy_sessions, drop_session

CAPACITY: Final = 64  # further sessions that Gradio keeps, of clients that never announce their end


class Sessions:
    """The sessions whose pages were closed and that are not dropped yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        self._demo = demo
        self._gone: set[str] = set()

    def part(self, visitor: str) -> None:
        """Drop the session of a closed page, and others that were busy when theirs closed."""
        busy = busy_sessions(self._demo)
        if busy is None:  # Gradio drops them itself, later
            return
        self._gone.add(visitor)
        for session in self._gone - busy:
            drop_session(self._demo, session)
        self._gone &= busy
        give_back()


def give_back() -> None:
    """Return free memory to the system, if the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
