"""Security headers of every response, including the Content-Security-Policy."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from specviz.adapters.gradio import SCRIPT_SOURCES, SPACE_SOURCES, STYLE_SOURCES
from specviz.ui.access import Access

POLICY: Final = "Content-Security-Policy"
HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
# What no page of this app needs; everything that is not listed below follows default-src.
NOTHING: Final[Mapping[str, Sequence[str]]] = {
    "default-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'none'"],
}
INLINE_SCRIPT: Final = re.compile(rb"<script\b[^>]*>(.*?)</script", re.DOTALL | re.IGNORECASE)


def page_policy(page: bytes, access: Access) -> str:
    """Return the policy of an HTML page: only its own inline scripts can run.

    These are identified by their hashes, so markup that is injected into the page later cannot run
    a script, neither in an element nor in an attribute.
    """
    hashes = sorted({script_hash(script) for script in INLINE_SCRIPT.findall(page) if script})
    space = list(SPACE_SOURCES) if access.on_space else []
    return written(
        {
            **NOTHING,
            "base-uri": ["'self'"],  # Gradio's page has a <base>
            "script-src": ["'self'", *SCRIPT_SOURCES, *hashes],
            "style-src": ["'self'", *STYLE_SOURCES],
            "img-src": ["'self'", "data:", *space],  # an image saved as PNG is a data URL
            "font-src": ["'self'"],
            "connect-src": ["'self'", *space],
            "manifest-src": ["'self'"],
            "frame-ancestors": access.frames,
        }
    )


def plain_page_policy(styles: str, access: Access, forms: str = "'none'") -> str:
    """Return the policy of a page without Gradio, which allows our modules and one style sheet.

    Args:
        styles: The style sheet.
        access: Which pages may embed it.
        forms: Where its forms may lead.
    """
    return written(
        {
            **NOTHING,
            "script-src": ["'self'"],
            "style-src": [script_hash(styles.encode())],
            "form-action": [forms],
            "connect-src": ["'self'"],
            "frame-ancestors": access.frames,
        }
    )


def other_policy(access: Access) -> str:
    """Return the policy of all other responses, in case a browser shows one as a page."""
    return written({**NOTHING, "frame-ancestors": access.frames})


def written(directives: Mapping[str, Sequence[str]]) -> str:
    """Return a policy as one line of text, given the sources of each directive."""
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


def script_hash(script: bytes) -> str:
    """Return the hash of a script as a CSP source; browsers normalize line ends to line feeds."""
    text = script.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return f"'sha256-{b64encode(sha256(text).digest()).decode()}'"


def sending_headers(send: Send, policy: str) -> Send:
    """Return a `send` function that adds HEADERS, and `policy` if the response has none."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault(POLICY, policy)
        await send(message)

    return send_with_headers
