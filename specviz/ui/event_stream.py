"""Server-sent events for a limited number of readers, each of which must keep reading."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

log = logging.getLogger(__name__)

STALLED: Final = 20.0  # seconds that a reader may take to accept a message
NO_STORE: Final = {"Cache-Control": "no-store"}


class TooManyReaders(ValueError):
    """Raised if a stream has no place for another reader; the message is a sentence."""


class EventStream(StreamingResponse):
    """A stream of server-sent events for one reader."""

    def __init__(
        self, events: AsyncIterator[str], reading: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Set the events and the context in which they are sent.

        reading: returns a context that counts the reader. It is entered when the response begins,
        so no number of simultaneous requests exceeds a limit. It may raise TooManyReaders; the
        response is then that sentence.
        """
        super().__init__(events, media_type="text/event-stream")
        # Some proxies collect a whole response unless they are told not to.
        self.headers.update({**NO_STORE, "X-Accel-Buffering": "no"})
        self._reading = reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; give up if the reader accepts nothing for STALLED seconds."""
        try:
            with self._reading():
                await super().__call__(scope, receive, partial(_send_soon, send))
        except TooManyReaders as problem:
            refusal = JSONResponse({"problem": str(problem)}, 429, NO_STORE)
            await refusal(scope, receive, send)
        except TimeoutError:
            log.info("a reader of a stream accepts nothing and is dropped")


async def _send_soon(send: Send, message: Message) -> None:
    await asyncio.wait_for(send(message), STALLED)
