"""A fake of ZeroGPU's scheduler: it grants every call at once and records the requests.

It implements the device API that `spaces` calls, whose address is in SPACES_ZERO_DEVICE_API_URL:
/startup-report once, then for each call /schedule, /allow in a new process, and /release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

GRANT = {"idle": True, "nvidiaIndex": 0, "nvidiaUUID": "GPU-pretended", "allowToken": "granted"}


class Asked(NamedTuple):
    """One request.

    path: without its query. values: the values of its query.
    """

    path: str
    values: dict[str, str]


class Scheduler(ThreadingHTTPServer):
    """asked: every request, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.asked: list[Asked] = []

    @property
    def address(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def of(self, path: str) -> list[dict[str, str]]:
        """The values of every request of a path."""
        return [asked.values for asked in self.asked if asked.path == path]


class Api(BaseHTTPRequestHandler):
    """Grants every request."""

    server: Scheduler

    def do_POST(self) -> None:
        """Record a request and grant it."""
        url = urlsplit(self.path)
        self.server.asked.append(Asked(url.path, dict(parse_qsl(url.query))))
        body = json.dumps(GRANT if url.path == "/schedule" else {}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def scheduling() -> Iterator[Scheduler]:
    """Run the scheduler within this context, in separate threads."""
    with Scheduler() as scheduler:
        Thread(target=scheduler.serve_forever, daemon=True).start()
        try:
            yield scheduler
        finally:
            scheduler.shutdown()
