"""What stands in the page's head: a script that runs before Gradio's, the first tab's modules.

It is written into the page where the page is sent: see `adapters.gradio.insert_head`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.adapters.gradio import insert_head
from specviz.ui.access import Access
from specviz.ui.policy import POLICY, page_policy
from specviz.ui.routes import EARLY, lean, module_address, modules

FIRST: Final = ("shared/", "step/")  # what the tab that opens first is made of


@cache
def head() -> bytes:
    """What runs before Gradio does; and links by which the first tab's modules come at once.

    Without them, one comes when another asks for it. Those of other tabs come with their tab.
    """
    first = [name for name in modules()[1] if name.startswith(FIRST)]
    addresses = [module_address(name.removesuffix(".js")) for name in first]
    links = "".join(f'<link rel="modulepreload" href="{address}">' for address in addresses)
    return b"<script>%b</script>%b" % (lean(EARLY.read_bytes()), links.encode())


class Head:
    """Puts `head` and a policy into the pages that are sent; everything else passes as it is."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold a page back until it is whole, and send it with its head."""
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
    """Whether what begins so is a page."""
    return MutableHeaders(scope=start).get("content-type", "").startswith("text/html")
