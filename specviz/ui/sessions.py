"""What is kept of a visit that is over: nothing.

Gradio keeps a session's copy of the page, with the whole text of its last runs, about a megabyte,
until `state_session_capacity` sessions came after it, and its unread messages until two thousand
did. No part of this page needs them later, so both go when the page is closed. Rule: a session that
still has an event under way is left alone until that is over.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

import gradio as gr

CAPACITY: Final = 64  # sessions that Gradio keeps beside: of clients that never say that they go


class Sessions:
    """The sessions whose pages were closed and that are not dropped yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        self._demo = demo
        self._gone: set[str] = set()

    def part(self, visitor: str) -> None:
        """This page was closed: drop it, and others that were busy when theirs were."""
        self._gone.add(visitor)
        queue = self._demo._queue
        busy = {event.session_hash for event in queue.event_ids_to_events.values()}
        for session in self._gone - busy:
            self._drop(session)
        self._gone &= busy
        give_back()

    def _drop(self, session: str) -> None:
        holder: Any = self._demo.state_holder
        queue = self._demo._queue
        with holder.lock:
            holder.session_data.pop(session, None)
            holder.time_last_used.pop(session, None)
        queue.pending_messages_per_session.pop(session, None)
        queue.pending_event_ids_session.pop(session, None)


def give_back() -> None:
    """Memory that is free goes back to the system, where the C library can do so (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
