"""Runs that visitors open from files: `POST /gradio_api/sv/open` with the text of a trace.

The trace is parsed within limits and passed through `check`; the response has the lines that the
player shows, or one line with an error. The server keeps neither. Traces are read one after
another, since reading one takes as long as showing it, up to some seconds for the largest.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from specviz.trace.check import CheckFailed, check
from specviz.trace.file import Trace, TraceError
from specviz.ui.access import client_address
from specviz.ui.routes import OPEN
from specviz.ui.step.lines import lines
from specviz.ui.stream import error

log = logging.getLogger(__name__)

PER_ADDRESS: Final = 64  # traces of one network address, which a class may share, that may wait
BUSY: Final = "Too many runs are being opened. Try again in a moment."
FAILED: Final = "An error on the server ended this; the server's log has the details."


class OpenedRuns:
    """Reads the traces that visitors send."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "opened-runs")
        self._waiting: Counter[str] = Counter()  # by network address

    def route(self) -> Route:
        """Return the route."""
        return Route(OPEN, self.send_lines, methods=["POST"])

    async def send_lines(self, request: Request) -> Response:
        """Send the lines of the trace in a request's body."""
        text = await request.body()
        address = client_address(request.scope)
        if self._waiting[address] >= PER_ADDRESS:
            return _ndjson(error(BUSY, ""))
        self._waiting[address] += 1
        try:
            loop = asyncio.get_running_loop()
            return _ndjson(await loop.run_in_executor(self._pool, opened, text))
        finally:
            self._waiting -= Counter({address: 1})  # this drops addresses without traces


def opened(text: bytes) -> str:
    """Return the lines of a trace for the player, or one line with an error."""
    try:
        trace = Trace.parse(text.decode("utf-8-sig").split("\n"))
        check(trace)
        if not trace.rounds:
            return error("It has no round to show.", "")
        return "".join(lines([trace.header, *trace.events], "recorded"))
    except UnicodeDecodeError:
        return error("It is not text.", "")
    except TraceError as problem:
        return error(f"It is no trace that can be read. {problem}", "")
    except CheckFailed as problem:
        return error(f"Its numbers contradict each other, or are cut off. {problem}", "")
    except Exception:
        log.exception("a visitor's trace could not be drawn")
        return error(FAILED, "")


def _ndjson(text: str) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(text, media_type="application/x-ndjson", headers=headers)
