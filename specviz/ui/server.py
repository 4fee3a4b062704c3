"""Our own routes (scripts, recordings, lessons, jobs and votes) and middleware.

No route accepts, stores or downloads a file; `guard` closes Gradio's routes that do. All paths
start with Gradio's prefix, which a proxy in front of Gradio passes on, except that of the page on
phones for class votes.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from specviz.adapters.gradio import check_heartbeats, knows_readers, put_first
from specviz.ui.access import Access
from specviz.ui.api_calls import ApiCalls, ResultReaders
from specviz.ui.compare.race import recorded
from specviz.ui.compare.race.replay import RACE
from specviz.ui.guard import Guard
from specviz.ui.head import Head
from specviz.ui.jobs import Jobs
from specviz.ui.learn import send_lesson
from specviz.ui.offline import OfflinePart
from specviz.ui.routes import FOR_EVER, PREFIX, scripts
from specviz.ui.sessions import Heartbeats, Sessions
from specviz.ui.step.embed import EMBED, OEMBED, EmbedMode, Pages, send_oembed
from specviz.ui.step.opened import OpenedRuns
from specviz.ui.step.recorded import body, names
from specviz.ui.step.replay import PLAYER
from specviz.ui.votes import Rooms


async def send_health(request: Request) -> Response:
    """Answer a container's health check, without using a model."""
    return PlainTextResponse("ok", headers={"Cache-Control": "no-store"})


def offline_route(part: OfflinePart) -> Route:
    """Return the route of a file that replays recordings; the page inserts the recording."""
    name, packed = part.packed

    async def send(request: Request) -> Response:
        return _script(packed, "text/plain")

    return Route(f"{PREFIX}/{name}", send)


async def send_script(request: Request) -> Response:
    """Send a script of the page; all scripts were read when the server started."""
    packed = scripts()[1].get(request.path_params["name"])
    return PlainTextResponse("No script has this name.", 404) if packed is None else _script(packed)


def _script(packed: bytes, kind: str = "text/javascript") -> Response:
    headers = {"Content-Encoding": "gzip", "Cache-Control": FOR_EVER}
    return Response(packed, media_type=kind, headers=headers)


def send_recorded(request: Request) -> Response:
    """Send a recorded run as JSON Lines."""
    name = request.path_params["name"]
    return _send(request, "run", partial(body, name) if name in names() else None)


def send_race(request: Request) -> Response:
    """Send a recorded race as JSON Lines."""
    name = request.path_params["name"]
    return _send(
        request, "race", partial(recorded.body, name) if name in recorded.names() else None
    )


def _send(request: Request, what: str, made: Callable[[], bytes] | None) -> Response:
    # Status 304 if the browser has them; made returns None if there are none.
    if made is None:
        return PlainTextResponse(f"No recorded {what} has this name.", 404)
    try:
        packed = made()
    except ValueError as problem:  # every error of a file is a ValueError with a readable message
        return PlainTextResponse(str(problem), 422)
    tag = f'"{hashlib.sha256(packed).hexdigest()[:16]}"'
    headers = {"Content-Encoding": "gzip", "Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(packed, media_type="application/x-ndjson", headers=headers)


@asynccontextmanager
async def prepare_app(app: ASGIApp, calls: ApiCalls) -> AsyncIterator[None]:
    """Check Gradio's app and put the guard around its own middleware, before the first request."""
    put_first(app, Guard)
    check_heartbeats(app)
    calls.readers_known = knows_readers(app)
    yield


def app_kwargs(
    access: Access | None = None,
    jobs: Jobs | None = None,
    sessions: Sessions | None = None,
    calls: ApiCalls | None = None,
) -> dict[str, Any]:
    """Return routes and middleware for `launch(app_kwargs=...)`.

    Args:
        access: Who may use the server; see `Guard`.
        jobs: The jobs whose lines are sent, and which can be stopped.
        sessions: The sessions of the page, whose data is deleted when they end.
        calls: The calls of the API function, which end if nobody reads their results.
    """
    access, calls = access or Access(), calls or ApiCalls()
    pages = Pages(access)
    routes = [
        Route(f"{PREFIX}/health", send_health),
        *map(offline_route, (PLAYER, RACE)),
        Route(f"{PREFIX}/{scripts()[0]}/{{name}}", send_script),
        Route(f"{PREFIX}/traces/{{name}}", send_recorded),
        Route(f"{PREFIX}/races/{{name}}", send_race),
        Route(f"{PREFIX}/lesson", send_lesson),
        Route(EMBED, pages.send_excerpt),
        Route(OEMBED, send_oembed),
        Route(f"{PREFIX}/article", pages.send_article),
        Route(f"{PREFIX}/notes", pages.send_notes),
        OpenedRuns().route(),
        *(jobs or Jobs()).routes(),
        *Rooms(access).routes(),
    ]
    middleware = [
        Middleware(Guard, access),
        # The middleware that compresses responses leaves event streams unchanged.
        Middleware(GZipMiddleware, minimum_size=1000),
        Middleware(EmbedMode, pages),
        Middleware(Head, access),
        Middleware(ResultReaders, calls),
    ]
    if sessions is not None:
        middleware.append(Middleware(Heartbeats, sessions))
    return {
        "routes": routes,
        "middleware": middleware,
        "lifespan": partial(prepare_app, calls=calls),
    }
