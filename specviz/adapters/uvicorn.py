"""All uses of undocumented behaviour of uvicorn, which serves the page for Gradio.

uvicorn closes a connection that is idle between two requests, but waits without limit for the rest
of a request's headers. No option changes that, and Gradio passes none, so the class that handles a
connection is replaced by a subclass. If uvicorn changes, connections wait as before.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from specviz.adapters import Patch, warn_once

ENDLESS: Final = (
    "uvicorn now handles connections differently: a client that sends half of a request's headers "
    "keeps its connection open without limit."
)
CHOICE: Final = "auto"  # the key of the class that uvicorn uses if no option chooses another


def limit_header_time(seconds: float) -> None:
    """Close connections on which a request's headers take longer. Call it before the server starts.

    If it is called again, the new limit applies to all connections of this process.

    Args:
        seconds: The limit, from the first byte of a request, or from the start of the connection.
    """
    with Patch(ENDLESS):
        from uvicorn.config import HTTP_PROTOCOLS
        from uvicorn.importer import import_from_string

        HeaderLimit.seconds = seconds
        name = HTTP_PROTOCOLS[CHOICE]
        if name != _NAME:
            bases = (HeaderLimit, import_from_string(name))
            globals()[_CLASS] = type(_CLASS, bases, {})
            HTTP_PROTOCOLS[CHOICE] = _NAME


_CLASS: Final = "LimitedProtocol"
_NAME: Final = f"{__name__}:{_CLASS}"


class HeaderLimit(asyncio.Protocol):
    """A base class of connections that are closed if a request's headers do not become complete.

    Attributes:
        seconds: The time until then.
    """

    seconds: ClassVar[float]
    transport: asyncio.Transport  # set by uvicorn's class
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Implement `asyncio.Protocol.connection_made`."""
        super().connection_made(transport)
        self._watch(transport)

    def data_received(self, data: bytes) -> None:
        """Implement `asyncio.Protocol.data_received`."""
        super().data_received(data)
        self._watch(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Implement `asyncio.Protocol.connection_lost`."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self, transport: asyncio.Transport) -> None:
        """Begin or end the limit, after something has arrived."""
        if not awaits_headers(self) or transport.get_protocol() is not self:  # a web socket
            self._forget()
        elif self._deadline is None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self.seconds, self._end, transport)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self, transport: asyncio.Transport) -> None:
        self._deadline = None
        if awaits_headers(self):
            transport.close()


def awaits_headers(protocol: Any) -> bool:
    """Return whether a connection has no request whose response is still to come."""
    try:
        return protocol.cycle is None or bool(protocol.cycle.response_complete)
    except AttributeError:
        warn_once(ENDLESS)
        return False
