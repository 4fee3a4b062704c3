"""Read request bodies before they are parsed, with limits on their size, time and total memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from specviz.adapters.gradio import EVENT_ROUTES
from specviz.ui.access import client_address
from specviz.ui.limits import LARGEST_TRACE
from specviz.ui.routes import OPEN

# Maximum bytes of a request's body. The page's largest question is that of the Cost page, about two
# pasted texts of 400,000 characters each: in JSON, a quotation mark takes 2 bytes and a character
# beyond Latin-1 up to 3, so 2.4 MB. The next largest is its file of measured costs: 2**18
# characters, 0.8 MB. The value of an event is JSON within JSON: a run has at most 64,000
# characters. The trace of a run that a visitor opens is limited by LARGEST_TRACE.
EVENT_LIMIT: Final = 4_000_000
LIMIT: Final = 1_000_000  # maximum bytes of a request's body on every other route
DIGITS: Final = 12  # maximum digits: Python refuses to read a number with thousands of digits
SECONDS: Final = 30.0  # maximum time until a body is complete
# Maximum bytes of all bodies in memory, and of those of one network address. Small bodies are not
# counted, so that the page's usual requests are answered while others fill the memory.
TOTAL: Final = 64_000_000
PER_ADDRESS: Final = 32_000_000
SMALL: Final = 64_000


class BodyRefused(ValueError):
    """Raised if a body is not accepted; the message is a sentence."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Disconnected(Exception):
    """Raised if the client disconnected before its body was complete."""


def limit_of(path: str) -> int:
    """Return the maximum body size in bytes for a path."""
    if path == OPEN:
        return LARGEST_TRACE
    return EVENT_LIMIT if path.startswith(EVENT_ROUTES) else LIMIT


class Bodies:
    """All request bodies in memory."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()  # counted bytes by network address

    @contextmanager
    def counted(self, scope: Scope) -> Iterator[Body]:
        """Return the body of a request; it counts as held until the end of this context."""
        body = Body(self, client_address(scope))
        try:
            yield body
        finally:
            self._held[body.address] -= body.counted
            self._held += Counter()  # this drops addresses without bodies

    def count(self, address: str, size: int) -> None:
        """Count bytes of an address. Raises BodyRefused."""
        full = self._held.total() + size > TOTAL
        if full or self._held[address] + size > PER_ADDRESS:
            raise BodyRefused("The server is reading too many large requests. Try again.", 503)
        self._held[address] += size


class Body:
    """The body of one request. counted: how many of its bytes are counted."""

    def __init__(self, bodies: Bodies, address: str) -> None:
        self.address = address
        self.counted = 0
        self._bodies = bodies

    async def read(self, scope: Scope, receive: Receive, limit: int) -> Receive:
        """Read a body of at most `limit` bytes; return a `receive` function that replays it.

        A body whose Content-Length is too large is not read at all; any other is read up to the
        limit. Raises BodyRefused if it is too large or too slow, or too much memory is used;
        Disconnected if the client disconnected.
        """
        headers = Headers(scope=scope)
        stated = headers.get("content-length", "")
        if not stated and "transfer-encoding" not in headers:
            return receive  # then HTTP/1.1 has no body
        if stated.isdecimal() and (len(stated) > DIGITS or int(stated) > limit):
            raise _too_large(limit)
        try:
            async with asyncio.timeout(SECONDS):
                return _replay(await self._collect(receive, limit), receive)
        except TimeoutError as error:
            sentence = f"This request was not complete after {SECONDS:g} seconds."
            raise BodyRefused(sentence, 408) from error

    async def _collect(self, receive: Receive, limit: int) -> bytes:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise Disconnected
            body += message.get("body", b"")
            if len(body) > limit:
                raise _too_large(limit)
            if len(body) > SMALL:
                self._bodies.count(self.address, len(body) - self.counted)
                self.counted = len(body)
            more = message.get("more_body", False)
        return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return whole.pop() if whole else await receive()

    return receive_again


def _too_large(limit: int) -> BodyRefused:
    sentence = f"This request is too large: this address accepts at most {limit // 10**6} MB."
    return BodyRefused(sentence, 413)
