"""The content of the page's head: a script that runs before Gradio's, and preload links.

It is inserted when the page is sent: see `adapters.gradio.insert_head`.
"""

from __future__ import annotations

import gzip
import posixpath
import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.adapters.gradio import insert_head
from specviz.ui.access import Access
from specviz.ui.policy import POLICY, page_policy
from specviz.ui.routes import EARLY, lean, module_address, modules

# The sections that are on the page before any other tab is opened.
FIRST: Final = ("shared/header.js", "step/intro.js", "step/player.js", "step/settings.js")

IMPORT: Final = re.compile(r'^(?:im|ex)port\b[^;"]*"(\.{1,2}/[^"]+)";', re.MULTILINE)


@cache
def head() -> bytes:
    """Return the early script, and links that preload the modules of the first tab.

    Without them, each module loads only when another imports it. Those of other tabs load with
    them.
    """
    addresses = [module_address(name.removesuffix(".js")) for name in sorted(imported(FIRST))]
    links = "".join(f'<link rel="modulepreload" href="{address}">' for address in addresses)
    return b"<script>%b</script>%b" % (lean(EARLY.read_bytes()), links.encode())


def imported(names: Iterable[str]) -> set[str]:
    """Return the paths of modules and of all that they import, one through another."""
    found: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name in found:
            continue
        found.add(name)
        text = gzip.decompress(modules()[1][name]).decode()
        ahead += [
            posixpath.normpath(posixpath.join(name, "..", each)) for each in IMPORT.findall(text)
        ]
    return found


class Head:
    """Insert `head` and a policy into pages; pass everything else on."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Buffer a page until it is complete, then send it with its head."""
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
                    whole = insert_head(body, head())
                    headers = MutableHeaders(scope=start)
                    headers["content-length"] = str(len(whole))
                    headers[POLICY] = page_policy(whole, self.access)
                    await send(start)
                    await send({"type": "http.response.body", "body": whole})

        await self.app(scope, receive, headed)


def is_page(start: Message) -> bool:
    """Whether a response that begins like this is a page of Gradio's; ours have a policy."""
    headers = MutableHeaders(scope=start)
    return headers.get("content-type", "").startswith("text/html") and POLICY not in headers
