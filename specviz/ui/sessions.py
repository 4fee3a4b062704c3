"""Delete Gradio's data of a session when its page is closed, since it is not needed later.

If a session has an active event, its data is deleted after the event.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

import gradio as gr

from specviz.adapters.gradio import busy_sessions, drop_session

CAPACITY: Final = 64  # how many other sessions Gradio keeps, of clients that never report their end


class Sessions:
    """The sessions whose pages were closed, but whose data is not deleted yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        self._demo = demo
        self._gone: set[str] = set()

    def part(self, visitor: str) -> None:
        """Delete the data of a closed session, and of others that had active events before."""
        busy = busy_sessions(self._demo)
        if busy is None:  # Gradio deletes it later
            return
        self._gone.add(visitor)
        for session in self._gone - busy:
            drop_session(self._demo, session)
        self._gone &= busy
        give_back()


def give_back() -> None:
    """Return free memory to the operating system, if the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
