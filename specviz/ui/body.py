"""Limit the size of request bodies while they arrive, before anything parses them."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from specviz.adapters.gradio import API_PREFIX, EVENT_ROUTES

# Bytes of a request's body. The page's largest question is the Cost page's about two pasted texts
# of 400,000 characters each: in JSON, a quotation mark takes 2 bytes and a character beyond Latin-1
# up to 3, so 2.4 MB. Then comes its file of measured costs: 2**18 characters, 0.8 MB. The value of
# an event is JSON within JSON: a run is 64,000 characters at most. No route takes a file.
EVENT_LIMIT: Final = 4_000_000
LIMIT: Final = 1_000_000  # of every other route
ASK: Final = f"{API_PREFIX}/sv/ask/"  # where questions are sent
DIGITS: Final = 12  # Python refuses to read a number of thousands of digits


class BodyTooLarge(ValueError):
    """A body larger than its route accepts; the message is a sentence."""


class Disconnected(Exception):
    """The client disconnected before its body was complete."""


def limit_of(path: str) -> int:
    """Return the maximum body size in bytes for a path."""
    return EVENT_LIMIT if path.startswith((*EVENT_ROUTES, ASK)) else LIMIT


async def read_body(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Read a body of at most `limit` bytes, and return a `receive` that yields it again.

    A body whose Content-Length is too large is not read at all; any other is read up to the limit.
    Raises BodyTooLarge, and Disconnected.
    """
    headers = Headers(scope=scope)
    stated = headers.get("content-length", "")
    if not stated and "transfer-encoding" not in headers:
        return receive  # HTTP/1.1 has no body then
    if stated.isdecimal() and (len(stated) > DIGITS or int(stated) > limit):
        raise _too_large(limit)
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        more = message.get("more_body", False)
    return _replay(bytes(body), receive)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a whole body first."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return whole.pop() if whole else await receive()

    return receive_again


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"This request is too large: this address accepts at most {limit // 10**6} MB."
    )
