"""The jobs of all pages, and their routes below `/gradio_api/sv/jobs/PAGE/NUMBER`.

`GET .../lines` sends a job's lines of JSON as server-sent events, each line once per reader. An
event is a batch of lines, and its id is the number of lines so far. A browser that reconnects sends
this number as Last-Event-ID, other readers as `?from=`, and the stream continues from there.
Without either, the response waits until the job starts, since the page requests both at the same
time. Comments are sent regularly, so that proxies do not close the stream. Status 204: there are no
further lines, or no such job.

`POST .../stop` ends a job, even if the request that starts it has not arrived yet.

PAGE is a key of 128 random bits that each page creates and keeps when it is reloaded, so nobody can
guess the address of another visitor's jobs. (Gradio's session hash is not suitable: it changes when
the page is reloaded, and has 52 bits from a generator that is not meant for secrets.) A job that
nobody reads for a few seconds is stopped; its lines are kept for some time, in limited memory.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from specviz.ui.event_stream import EventStream, TooManyReaders
from specviz.ui.routes import PREFIX
from specviz.ui.stream import Stream

KEPT: Final = 120.0  # seconds for which the lines of a finished job are kept
BYTES: Final = 16 * 2**20  # maximum total size of all such lines
MOST: Final = 1000  # maximum number of finished jobs, and of stops that arrived before their jobs
READERS: Final = 4  # of one job at a time
UNBEGUN: Final = 20.0  # seconds that a reader waits for a job to be started
PAGE: Final = re.compile("[0-9a-z]{20,40}")
NUMBER: Final = re.compile("[1-9][0-9]{0,15}")
FORGET_INTERVAL: Final = 30.0  # seconds between two checks for lines to drop
UNKNOWN: Final = "A job is named by the key of a page and a number."
BUSY: Final = "This job has too many readers."

Key = tuple[str, int]  # key of a page, and its number of the job


class Jobs:
    """The streams of jobs: active ones, and some that are over."""

    def __init__(self) -> None:
        self._streams: dict[Key, Stream] = {}
        self._stopped: dict[Key, None] = {}  # stops that arrived before their jobs started
        self._started = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def open(self, page: str, number: int) -> Stream:
        """Create the stream of a job that is being started. Raises ValueError for invalid names."""
        key = page, number
        if not (PAGE.fullmatch(page) and number > 0):
            raise ValueError(UNKNOWN)
        if key in self._streams:
            raise ValueError("This job was started before.")
        stream = self._streams[key] = Stream(page, str(number))
        self._forget()
        stream.expect_reader()
        if key in self._stopped:
            del self._stopped[key]
            stream.stop()
        self._started.set()
        self._started = asyncio.Event()
        return stream

    def routes(self) -> list[Route]:
        """Return the routes for reading lines and for stopping."""
        job = f"{PREFIX}/jobs/{{page}}/{{number}}"
        return [
            Route(f"{job}/lines", self.send_lines),
            Route(f"{job}/stop", self.stop, methods=["POST"]),
        ]

    async def send_lines(self, request: Request) -> Response:
        """Send the lines of a job, from the reader's position to the last one."""
        key = _key(request)
        if key is None:
            return PlainTextResponse(UNKNOWN, 404)
        at = cursor(request)
        stream = self._streams.get(key) if at is not None else await self._find(key)
        at = at or 0
        if stream is None or (stream.over and at >= len(stream.lines)):
            return Response(status_code=204)
        return EventStream(events(stream, at), partial(_reading, stream))

    async def stop(self, request: Request) -> Response:
        """Stop a job."""
        key = _key(request)
        if key is None:
            return PlainTextResponse(UNKNOWN, 404)
        if key in self._streams:
            self._streams[key].stop()
        else:
            self._stopped[key] = None
            if len(self._stopped) > MOST:
                del self._stopped[next(iter(self._stopped))]
        return Response(status_code=204)

    async def _find(self, key: Key) -> Stream | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(UNBEGUN):
                while key not in self._streams:
                    await self._started.wait()
        return self._streams.get(key)

    def _forget(self) -> None:
        # Jobs that were over long ago; the oldest ones as long as memory is full.
        now, size = perf_counter(), 0
        over = [(key, each) for key, each in self._streams.items() if each.over]
        newest_first = sorted(over, key=lambda each: -each[1].sent)
        for place, (key, stream) in enumerate(newest_first):
            size += sum(map(len, stream.lines))
            if size > BYTES or now - stream.sent > KEPT or place >= MOST:
                del self._streams[key]
        if self._timer is not None:
            self._timer.cancel()
        if self._streams:
            self._timer = asyncio.get_running_loop().call_later(FORGET_INTERVAL, self._forget)


@contextmanager
def _reading(stream: Stream) -> Iterator[None]:
    if stream.readers >= READERS:
        raise TooManyReaders(BUSY)
    with stream.reading():
        yield


async def events(stream: Stream, at: int) -> AsyncIterator[str]:
    """Yield a job's lines as server-sent events, starting with line number `at`."""
    yield "retry: 1000\n\n"
    async for batch in stream.read(at):
        at += len(batch)
        data = "".join(f"data: {line}\n" for line in batch)
        yield f"id: {at}\n{data}\n" if batch else ": the connection is open\n\n"


def cursor(request: Request) -> int | None:
    """Return how many lines a reader has; None if it does not know whether the job has begun."""
    given = request.headers.get("last-event-id") or request.query_params.get("from", "")
    return int(given) if re.fullmatch("[0-9]{1,9}", given) else None


def _key(request: Request) -> Key | None:
    page, number = request.path_params["page"], request.path_params["number"]
    named = PAGE.fullmatch(page) and NUMBER.fullmatch(number)
    return (page, int(number)) if named else None
