"""What is kept of a visit that is over: nothing.

No part of this page needs a closed session later, so what Gradio keeps of it is dropped when the
page is closed. Rule: a session that still has an event under way is left alone until that is over.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

import gradio as gr

from specviz.adapters.gradio import busy_sessions, drop_session

CAPACITY: Final = 64  # sessions that Gradio keeps beside: of clients that never say that they go


class Sessions:
    """The sessions whose pages were closed and that are not dropped yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        self._demo = demo
        self._gone: set[str] = set()

    def part(self, visitor: str) -> None:
        """This page was closed: drop it, and others that were busy when theirs were."""
        busy = busy_sessions(self._demo)
        if busy is None:  # Gradio drops them itself, later
            return
        self._gone.add(visitor)
        for session in self._gone - busy:
            drop_session(self._demo, session)
        self._gone &= busy
        give_back()


def give_back() -> None:
    """Memory that is free goes back to the system, where the C library can do so (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
