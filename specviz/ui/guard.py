"""The outermost middleware: refuses requests before any other code, and adds headers.

It limits request bodies while they arrive, before they are parsed (`bodies`).
"""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.adapters.gradio import (
    CLOSED_PREFIXES,
    CLOSED_ROUTES,
    is_lost_session,
)
from specviz.ui.access import ALLOWED_HOSTS, Access
from specviz.ui.bodies import Bodies, BodyRefused, Disconnected, limit_of
from specviz.ui.policy import other_policy, sending_headers
from specviz.ui.routes import PREFIX

log = logging.getLogger(__name__)

MAX_QUOTE: Final = 80  # maximum characters of a header that are quoted in a refusal
REMEDY: Final = (
    f"start the server with --allowed-host NAME, or set the environment variable {ALLOWED_HOSTS}."
)


class Guard:
    """Refuse unknown hosts, calls from other sites' pages, large bodies and closed routes.

    Gradio's routes for uploads, remote files, saved pages and usage statistics are closed. If a
    call of another route of Gradio raises an exception (as for an event that does not exist), the
    response is a sentence, and the exception is logged. Every response gets the headers of
    `policy`.
    """

    def __init__(self, app: ASGIApp, access: Access | None = None) -> None:
        """Wrap an app. access: who may use the server; if omitted, only this machine."""
        self.app = app
        self.access = access or Access()
        self.policy = other_policy(self.access)
        self.bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request with one sentence, or pass it on."""
        if scope["type"] == "websocket" and refusal(scope, self.access):
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._answer(scope, receive, sending_headers(send, self.policy))
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = refusal(scope, self.access)
        if refused:
            await refused(scope, receive, send)
            return
        with self.bodies.counted(scope) as body:
            try:
                receive = await body.read(scope, receive, limit_of(route_path(scope)))
            except BodyRefused as error:
                # The rest of the body is not read, so the connection has to end.
                headers = {"Connection": "close"}
                response = PlainTextResponse(str(error), error.status, headers)
                await response(scope, receive, send)
            except Disconnected:
                log.debug("a client disconnected before its request was complete")
            else:
                ours = route_path(scope).startswith(PREFIX)
                await (self.app if ours else self._pass_on)(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        # If Gradio raises before it responds, the answer is 400.
        begun = False

        async def noting_send(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting_send)
        except Exception as error:
            if not begun:
                log.warning("a call to %r failed: %r", scope["path"], error)
                await PlainTextResponse("This request matches no event of this page.", 400)(
                    scope, receive, send
                )
            elif is_lost_session(error):
                log.info("a stream was requested for an unknown session")
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                raise


def refusal(scope: Scope, access: Access) -> Response | None:
    """Return the response to a request that is refused because of its path or headers."""
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")  # before HTTP/1.1, which every browser uses, there may be none
    for host in hosts:
        if host and not access.allows_host(host):
            return PlainTextResponse(
                f"This server does not serve the host {_quoted(host)}. If this is its name, "
                f"{REMEDY}",
                421,
            )
    # A page of another site cannot set this header, since its browser would first ask for
    # permission.
    hosts += headers.get("x-forwarded-host", "").split(",")[:1]
    for origin in headers.getlist("origin"):
        if not access.allows_origin(origin, hosts):
            return PlainTextResponse(
                f"Pages of {_quoted(origin)} may not call this server. To allow that, {REMEDY}",
                403,
            )
    if scope["type"] == "http" and is_closed(route_path(scope)):
        return PlainTextResponse("This route is closed.", 403)
    return None


def route_path(scope: Scope) -> str:
    """Return the path without GRADIO_ROOT_PATH, which some proxies do not remove."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "").rstrip("/"))


def is_closed(path: str) -> bool:
    """Return whether a path, in any spelling, leads to a closed route."""
    plain = "/" + unquote(path).lower().strip("/").replace("//", "/")
    return plain in CLOSED_ROUTES or plain.startswith(CLOSED_PREFIXES)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…")
