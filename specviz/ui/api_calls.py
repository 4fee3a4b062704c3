"""Limits of the API function's calls: how many at a time, and only while a client reads.

A call's session is a name that its client invents, so calls are counted by network address. A
client reads its result from a stream of Gradio; if nobody reads, the call ends.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

import gradio as gr
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from specviz.adapters.gradio import result_session
from specviz.ui.guard import route_path
from specviz.ui.queue import QueueFull

PER_ADDRESS: Final = 4  # maximum calls of one network address at a time
MOST: Final = 16  # maximum calls of all addresses at a time
UNREAD: Final = 20.0  # seconds that a call waits for the first reader
ABSENT: Final = 6.0  # seconds without a reader after which a call ends that had one
OWN_FULL: Final = (
    f"{PER_ADDRESS} API calls of your network address are already waiting or running. Wait until "
    "one ends."
)
FULL: Final = f"{MOST} API calls are already waiting or running. Try again in a few minutes."
GONE: Final = "The run was stopped, because nobody reads its result."


class ApiCalls:
    """The calls under way, and the streams in which clients read results, by session."""

    def __init__(self) -> None:
        self._addresses: Counter[str] = Counter()
        self._readers: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self.readers_known = False  # whether the streams in which results are read are recognized

    @contextmanager
    def counted(self, address: str) -> Iterator[None]:
        """Count a call of a network address inside this context. Raises QueueFull."""
        if self._addresses[address] >= PER_ADDRESS:
            raise QueueFull(OWN_FULL)
        if self._addresses.total() >= MOST:
            raise QueueFull(FULL)
        self._addresses[address] += 1
        try:
            yield
        finally:
            self._addresses[address] -= 1
            self._addresses += Counter()  # this drops addresses without calls

    @contextmanager
    def reading(self, session: str) -> Iterator[None]:
        """Count a reader of a session inside this context."""
        self._count_reader(session, 1)
        try:
            yield
        finally:
            self._count_reader(session, -1)

    def _count_reader(self, session: str, change: int) -> None:
        self._readers[session] += change
        self._readers += Counter()  # this drops sessions without readers
        self._changed.set()
        self._changed = asyncio.Event()

    async def run_while_read(self, session: str, call: Coroutine[Any, Any, str]) -> str:
        """Return the result of a call; raise gr.Error if its session is known to have no reader."""
        work = asyncio.ensure_future(call)
        unread = asyncio.ensure_future(self._wait_until_unread(session))
        try:
            await asyncio.wait({work, unread}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise gr.Error(GONE, print_exception=False)
            return work.result()
        finally:
            work.cancel()
            unread.cancel()

    async def _wait_until_unread(self, session: str) -> None:
        patience = UNREAD
        while not self.readers_known:
            await self._changed.wait()
        while True:
            changed = self._changed
            if self._readers[session]:
                await changed.wait()
                patience = ABSENT
            elif not await self._read_within(session, patience):
                return

    async def _read_within(self, session: str, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while not self._readers[session]:
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True


class ResultReaders:
    """Middleware that counts the streams in which API clients read results."""

    def __init__(self, app: ASGIApp, calls: ApiCalls) -> None:
        self.app = app
        self.calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and count a stream of results while it is open."""
        session = None
        if scope["type"] == "http" and scope["method"] == "GET":
            query = HTTPConnection(scope).query_params
            session = result_session(scope.get("app"), route_path(scope), query)
        if session is None:
            await self.app(scope, receive, send)
        else:
            with self.calls.reading(session):
                await self.app(scope, receive, send)
