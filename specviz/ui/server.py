"""What the server answers beside Gradio: scripts, recorded runs and races; and what it refuses.

No route takes a file, keeps one or fetches an address: Gradio's own that do are closed here. All
paths start with Gradio's prefix, which a proxy in front of Gradio passes on.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.adapters.gradio import CLOSED_PREFIXES, CLOSED_ROUTES
from specviz.ui.compare.race import recorded
from specviz.ui.head import Head
from specviz.ui.routes import FOR_EVER, PREFIX, modules, plotly_js
from specviz.ui.step.recorded import body, names

log = logging.getLogger(__name__)


class Guard:
    """Refuses Gradio's routes for uploads, remote files, saved pages and usage counts.

    What breaks one of Gradio's other routes is a call that fits nothing here (an event that does
    not exist, say): it gets a sentence, and the log a line.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 for a closed route, else pass the request on."""
        if scope["type"] == "http" and self.closed(scope["path"]):
            await PlainTextResponse("This route is closed.", 403)(scope, receive, send)
        elif scope["type"] == "http" and not scope["path"].startswith(PREFIX):
            await self._guarded(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to Gradio; 400 where it breaks before anything was answered."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as problem:
            if begun:
                raise
            log.warning("a call to %r fits nothing here: %r", scope["path"], problem)
            await PlainTextResponse("This call fits nothing here.", 400)(scope, receive, send)

    def closed(self, path: str) -> bool:
        """Whether a path, however it is written, names a closed route."""
        plain = "/" + unquote(path).lower().strip("/").replace("//", "/")
        return plain in CLOSED_ROUTES or plain.startswith(CLOSED_PREFIXES)


async def send_health(request: Request) -> Response:
    """That the server answers: what a container's health check asks. No model is asked."""
    return PlainTextResponse("ok", headers={"Cache-Control": "no-store"})


async def send_plotly(request: Request) -> Response:
    """plotly.js, compressed once, kept by browsers for ever: its name changes with its text."""
    return _script(plotly_js()[1])


async def send_module(request: Request) -> Response:
    """A module of the page: one of those that were read at the start, by its name in that list."""
    packed = modules()[1].get(request.path_params["name"])
    return PlainTextResponse("No module has this name.", 404) if packed is None else _script(packed)


def _script(packed: bytes) -> Response:
    headers = {"Content-Encoding": "gzip", "Cache-Control": FOR_EVER}
    return Response(packed, media_type="text/javascript", headers=headers)


def send_recorded(request: Request) -> Response:
    """A recorded run as the player's lines."""
    name = request.path_params["name"]
    return _send(request, "run", partial(body, name) if name in names() else None)


def send_race(request: Request) -> Response:
    """A recorded race as the lines of its part of the page."""
    name = request.path_params["name"]
    return _send(
        request, "race", partial(recorded.body, name) if name in recorded.names() else None
    )


def _send(request: Request, what: str, made: Callable[[], bytes] | None) -> Response:
    """Compressed lines; asked again, only whether they are still the same. made: None for none."""
    if made is None:
        return PlainTextResponse(f"No recorded {what} has this name.", 404)
    try:
        packed = made()
    except ValueError as problem:  # every fault of a file is one, with a sentence
        return PlainTextResponse(str(problem), 422)
    tag = f'"{hashlib.sha256(packed).hexdigest()[:16]}"'
    headers = {"Content-Encoding": "gzip", "Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(packed, media_type="application/x-ndjson", headers=headers)


def app_kwargs() -> dict[str, Any]:
    """Routes and guard for `launch(app_kwargs=...)`."""
    routes = [
        Route(f"{PREFIX}/health", send_health),
        Route(f"{PREFIX}/{plotly_js()[0]}", send_plotly),
        Route(f"{PREFIX}/{modules()[0]}/{{name:path}}", send_module),
        Route(f"{PREFIX}/traces/{{name}}", send_recorded),
        Route(f"{PREFIX}/races/{{name}}", send_race),
    ]
    # Streams of events are left as they are by the compressing middleware.
    packing = Middleware(GZipMiddleware, minimum_size=1000)
    return {"routes": routes, "middleware": [Middleware(Guard), packing, Middleware(Head)]}
