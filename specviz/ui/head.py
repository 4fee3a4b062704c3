"""The page's head: a script that runs before Gradio's, a preload link, and headings in dropdowns.

The head is inserted when the page is sent; see `adapters.gradio.insert_head`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.adapters.gradio import LIST_ENTRY, insert_head
from specviz.ui.access import Access
from specviz.ui.policy import POLICY, page_policy
from specviz.ui.routes import script_address, script_text


@cache
def head() -> bytes:
    """Return the early script, and a link that preloads the page's own script."""
    link = f'<link rel="modulepreload" href="{script_address("page")}">'
    return f"<script>{script_text('early')}</script>{link}".encode()


@lru_cache(maxsize=4)  # a class opens the same page at the same time
def complete(page: bytes, access: Access) -> tuple[bytes, str]:
    """Return a page with its head, and its policy."""
    whole = insert_head(page, head())
    return whole, page_policy(whole, access)


class Head:
    """Middleware that inserts `head` and a policy into pages, and passes everything else on."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Collect a page until it is complete, then send it with its head."""
        start: Message = {}
        body = b""

        async def headed(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and is_page(message):
                start = message
            elif not start or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    whole, policy = complete(body, self.access)
                    headers = MutableHeaders(scope=start)
                    headers["content-length"] = str(len(whole))
                    headers[POLICY] = policy
                    await send(start)
                    await send({"type": "http.response.body", "body": whole})

        await self.app(scope, receive, headed)


def is_page(start: Message) -> bool:
    """Return whether a response is Gradio's page; our own pages already have a policy."""
    headers = MutableHeaders(scope=start)
    return headers.get("content-type", "").startswith("text/html") and POLICY not in headers


ROOM = 30  # pixels above a group's first choice


def headings(lists: Sequence[str], groups: Sequence[str]) -> str:
    """Return the style sheet of groups' headings in dropdowns, given each choice's group or ""."""
    first = [0, *(at for at, (a, b) in enumerate(pairwise(groups), 1) if a != b)]
    return "\n".join(_heading(lists, at, groups[at]) for at in first if groups and groups[at])


def _heading(lists: Sequence[str], at: int, title: str) -> str:
    items = [f"{one} {LIST_ENTRY.format(at)}" for one in lists]
    words = json.dumps(title, ensure_ascii=False).replace("<", "\\3c ")
    return (
        f"{', '.join(items)} {{ position: relative; margin-top: {ROOM}px;"
        f" scroll-snap-align: start; scroll-margin-top: {ROOM}px; }}\n"
        f"{', '.join(f'{one}::before' for one in items)} {{ content: {words}; }}"
    )
