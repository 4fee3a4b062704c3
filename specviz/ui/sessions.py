"""Notice closed pages, and delete Gradio's data of their sessions, since it is not needed later.

Every open page keeps a request open, its heartbeat; it ends when the page is closed. Gradio's event
`unload` says so too, but for each closed page it builds the state of a session, which takes 30 ms
on the event loop: while a class leaves together, nobody else would be answered.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from typing import Final

import gradio as gr
from starlette.types import ASGIApp, Receive, Scope, Send

from specviz.adapters.gradio import busy_sessions, drop_session, heartbeat_session
from specviz.ui.guard import route_path

CAPACITY: Final = 64  # how many other sessions Gradio keeps, of clients that never report their end
TRIM: Final = 2.0  # seconds between a closed page and the return of free memory


class Sessions:
    """The sessions whose pages were closed, but whose data is not deleted yet."""

    def __init__(self, demo: gr.Blocks) -> None:
        """Set the page whose sessions these are."""
        self._demo = demo
        self._gone: set[str] = set()
        self._trimming: asyncio.TimerHandle | None = None

    def part(self, session: str) -> None:
        """Delete the data of a closed session, and of others that had active events before.

        If a session has an active event, its data is deleted after a later call. Call it on the
        event loop.
        """
        busy = busy_sessions(self._demo)
        if busy is None:  # Gradio deletes it later
            return
        self._gone.add(session)
        for each in self._gone - busy:
            drop_session(self._demo, each)
        self._gone &= busy
        if self._trimming is None:  # many pages may be closed at the same time
            loop = asyncio.get_running_loop()
            self._trimming = loop.call_later(TRIM, self._trim)

    def _trim(self) -> None:
        self._trimming = None
        asyncio.get_running_loop().run_in_executor(None, give_back)


class Heartbeats:
    """Middleware that calls `Sessions.part` when the heartbeat of a session ends."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self.app = app
        self.sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and notice the end of a heartbeat."""
        session = heartbeat_session(route_path(scope)) if scope["type"] == "http" else None
        try:
            await self.app(scope, receive, send)
        finally:
            if session:
                self.sessions.part(session)


def give_back() -> None:
    """Return free memory to the operating system, if the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
