"""A step of a recorded run for a frame of another page: the page, its HTML snippet, and oEmbed.

The page is at `PREFIX/embed?trace=NAME&round=N&step=STEP&show=PART,PART`, and at the main address
with `embed=1`, so that a copied link becomes one. oEmbed (https://oembed.com) is the format by
which course systems and blogs ask an address for the HTML that embeds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from html import escape
from typing import Final, Literal, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from specviz.settings.suggestion import did_you_mean
from specviz.ui.access import Access, name_in
from specviz.ui.bodies import DIGITS
from specviz.ui.guard import route_path
from specviz.ui.learn.article import article, article_policy
from specviz.ui.policy import POLICY, plain_page_policy, written
from specviz.ui.routes import PREFIX, plain_page
from specviz.ui.step.recorded import names, title, trace
from specviz.ui.step.replay import PLAYER, Recording, frame_height

KEYS: Final = ("trace", "round", "step", "show")  # in the address of an embedded step
EMBED: Final = f"{PREFIX}/embed"
OEMBED: Final = f"{PREFIX}/oembed"
WIDTH: Final = 720  # pixels of a frame, unless a maximum is requested
LEAST: Final = 200  # pixels; a smaller frame is not readable
ADDRESS_CHARACTERS: Final = 2000  # maximum characters of an address
# Builds the pages one after another: requests that wait for a run's first page hold no thread that
# others need, and no run is prepared twice.
BUILDER: Final = ThreadPoolExecutor(1, "excerpts")


class OEmbed(TypedDict):
    """The answer of oEmbed for HTML."""

    version: Literal["1.0"]
    type: Literal["rich"]
    provider_name: Literal["specviz"]
    provider_url: str
    title: str
    width: int
    height: int
    html: str


class Pages:
    """Pages without Gradio: the article, speaker notes, and parts of recorded runs for frames."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.excerpts = written({**PLAYER.policy, "frame-ancestors": access.frames})
        self.articles = written({**article_policy(), "frame-ancestors": access.frames})

    def send_article(self, request: Request) -> Response:
        """Send the article."""
        return _page(article, self.articles)

    def send_notes(self, request: Request) -> Response:
        """Send the window of the speaker notes, which the page that opens it fills."""
        text, styles = plain_page("step/notes", "../..")
        return _page(lambda: text, plain_page_policy(styles, self.access))

    async def send_excerpt(self, request: Request) -> Response:
        """Send a recorded run or parts of it, built in a thread, and its oEmbed address."""
        asked = [request.query_params.get(name, "") for name in KEYS]
        own = f"{base_of(request)}{EMBED}?{urlencode(dict(zip(KEYS, asked, strict=True)))}"
        about = f"{base_of(request)}{OEMBED}?{urlencode({'url': own})}"
        page = partial(_page, partial(_linked, asked, about), self.excerpts)
        return await asyncio.get_running_loop().run_in_executor(BUILDER, page)


class EmbedMode:
    """Answer the main address with `embed=1` by the page for a frame; pass everything else on."""

    def __init__(self, app: ASGIApp, pages: Pages) -> None:
        self.app = app
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on."""
        main = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if main and route_path(scope) in ("", "/"):
            request = Request(scope)
            if request.query_params.get("embed") == "1":
                response = await self.pages.send_excerpt(request)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def send_oembed(request: Request) -> Response:
    """Answer `oembed?url=ADDRESS&maxwidth=N&maxheight=N&format=json`."""
    return await asyncio.get_running_loop().run_in_executor(BUILDER, _oembed_response, request)


def _oembed_response(request: Request) -> Response:
    query = request.query_params
    if query.get("format", "json") != "json":
        return PlainTextResponse("This address answers in JSON only.", 501)
    try:
        most = [_pixels(query.get(name, "")) for name in ("maxwidth", "maxheight")]
        found = oembed(query.get("url", ""), base_of(request), *most)
    except ValueError as problem:
        return PlainTextResponse(str(problem), 404)
    return JSONResponse(found, headers={"Cache-Control": "no-cache"})


def oembed(address: str, base: str, widest: int | None, highest: int | None) -> OEmbed:
    """Return the oEmbed answer for the address of an embedded step.

    Args:
        address: The main address with `embed=1` or with a recorded run, or the address EMBED.
        base: The address of this server, without a slash at its end.
        widest: The maximum width of the frame in pixels.
        highest: Its maximum height.

    Raises:
        ValueError: If there is no such step here.
    """
    where, query = _parse(address, base)
    copied = "trace" in query and query.get("tab", "step") == "step"  # a link that Step copies
    step = query.get("embed") == "1" or copied
    if where not in (EMBED, "", "/") or (where != EMBED and not step):
        raise ValueError("This is not the address of a step that can be embedded.")
    asked = [query.get(name, "") for name in KEYS]
    excerpt(*asked)
    high = frame_height(_parts(query.get("show", "")))
    shown = {name: value for name, value in zip(KEYS, asked, strict=True) if value}
    source = f"{base}/?" + urlencode({"embed": "1", **shown}, safe=",")
    width, height = min(WIDTH, widest or WIDTH), min(high, highest or high)
    name = title(shown.get("trace") or names()[0])
    return {
        "version": "1.0",
        "type": "rich",
        "provider_name": "specviz",
        "provider_url": f"{base}/",
        "title": name,
        "width": width,
        "height": height,
        "html": (
            f'<iframe src="{escape(source)}" '
            f'title="{escape(name)}" width="{width}" height="{height}" '
            'style="border:1px solid #b9c1cd"></iframe>'
        ),
    }


def _parse(address: str, base: str) -> tuple[str, dict[str, str]]:
    if len(address) > ADDRESS_CHARACTERS:
        raise ValueError(f"An address may have {ADDRESS_CHARACTERS} characters.")
    try:
        url, own = urlsplit(address), urlsplit(base)
    except ValueError as problem:
        raise ValueError("This is not an address.") from problem
    same = url.netloc.lower() == own.netloc.lower() and url.path.startswith(own.path)
    if not same or url.scheme not in ("http", "https"):
        raise ValueError("This is not an address of this server.")
    return url.path.removeprefix(own.path), dict(parse_qsl(url.query))


def _pixels(text: str) -> int | None:
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) < DIGITS and int(text) >= LEAST):
        raise ValueError(f"A width or height is a whole number of pixels, {LEAST} or more.")
    return int(text)


def base_of(request: Request) -> str:
    """Return the address of this server as its visitor sees it, without a slash at its end."""
    root = request.scope.get("root_path", "").rstrip("/")
    if "://" in root:
        return str(root)
    scheme, host = (
        request.headers.get(name, "").split(",")[0].strip()
        for name in ("x-forwarded-proto", "x-forwarded-host")
    )
    scheme = scheme if scheme in ("http", "https") else request.url.scheme
    return f"{scheme}://{host if name_in(host) else request.url.netloc}{root}"


def _page(made: Callable[[], str], policy: str) -> Response:
    try:
        page = made()
    except ValueError as problem:
        return PlainTextResponse(str(problem), 404)
    return HTMLResponse(page, headers={POLICY: policy, "Cache-Control": "no-cache"})


def _linked(asked: list[str], about: str) -> str:
    link = f'<link rel="alternate" type="application/json+oembed" href="{escape(about)}">'
    head, rest = excerpt(*asked).split("</title>", 1)
    return f"{head}</title>\n{link}{rest}"


def excerpt(name: str, number: str, step: str, show: str) -> str:
    """Return the page that replays a recorded run. Raises ValueError for unknown names.

    Args:
        name: The run's name; the first run if empty.
        number: A round's number; the first round if empty.
        step: A step's id; the round's first step if empty.
        show: The names of the parts to show, separated by commas; all parts if empty.
    """
    known = names()
    if name not in ("", *known) or not known:
        raise ValueError(f"No recorded run has this name.{did_you_mean(name, known)}")
    if number and not (number.isdecimal() and len(number) < DIGITS):
        raise ValueError("A round is given by its number.")
    recording = _recording(name or known[0])
    return recording.file(int(number) if number else None, step or None, _parts(show))


def _parts(show: str) -> list[str]:
    return [*dict.fromkeys(part for part in show.split(",") if part)]


@cache
def _recording(name: str) -> Recording:
    # Cached by its name only: visitors choose everything else.
    return Recording.of(trace(name))
