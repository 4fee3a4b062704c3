"""The article: one long page, in which excerpts of recorded runs are figures.

Its file has the format of a lesson (see `lessons`), with further keys for a figure: `show` (parts
of the player), `height` in pixels and `caption`. It is a separate HTML page, without Gradio.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any, Final
from urllib.parse import urlencode

from specviz.frames.scene import flat
from specviz.shipped import ASSETS
from specviz.ui.learn.lessons import Figure, Lesson, LessonStep, Paragraph, read
from specviz.ui.policy import NOTHING, script_hash
from specviz.ui.routes import HALF, script_text

FILE: Final = ASSETS / "article.md"
TEMPLATE: Final = HALF / "learn/article.html"


@cache
def article() -> str:
    """Return the article as HTML. Raises BadLesson if a run that it needs is missing."""
    found = read(FILE)
    template = TEMPLATE.read_text(encoding="utf-8")
    parts = {
        "title": escape(found["title"]),
        "lead": escape(found["question"]),
        "minutes": str(found["minutes"]),
        "colours": (HALF / "shared/10-colours.css").read_text(encoding="utf-8"),
        "script": script_text("article"),
        "sections": "".join(map(_section, found["steps"])),
        "sources": _sources(found),
    }
    return re.sub(r"\[([a-z]+)\]", lambda place: parts[place[1]], template)


def article_policy() -> dict[str, list[str]]:
    """Return the content security policy of the article, which allows frames of this server."""
    return {
        **{name: list(sources) for name, sources in NOTHING.items()},
        "script-src": [script_hash(script_text("article").encode())],
        "style-src": ["'unsafe-inline'"],
        "frame-src": ["'self'"],
    }


def _section(step: LessonStep) -> str:
    text = "".join(f"<p>{_inline(paragraph)}</p>" for paragraph in step["text"])
    figure = step.get("figure")
    shown = _figure(figure, step) if figure else ""
    name = step["title"].lower().replace(" ", "-").strip("?")
    first, rest = text.split("</p>", 1)
    return (
        f'<section id="{escape(name)}"><h2>{escape(step["title"])}</h2>'
        f"{first}</p>{shown}{rest}</section>"
    )


def _figure(figure: Figure, step: LessonStep) -> str:
    place = step["place"]
    query = {
        "trace": place["trace"],
        "round": place["round"],
        "step": place["step"],
        "show": ",".join(figure["show"]),
    }
    address = f"embed?{urlencode(query)}"
    whole = urlencode({name: query[name] for name in ("trace", "round", "step")})
    return (
        f'<figure><iframe src="{escape(address)}" loading="lazy" height="{figure["height"]}"'
        f' title="{escape(step["title"])}: a step of a recorded run"></iframe>'
        f"<figcaption>{_inline(figure['caption'])}"
        f' <a href="../../?{escape(whole)}">Open this step</a></figcaption></figure>'
    )


def _sources(found: Lesson) -> str:
    return "".join(f"<li>{_inline(source)}</li>" for source in found["sources"])


def _inline(paragraph: Paragraph) -> str:
    return "".join(map(_piece, paragraph))


def _piece(piece: Any) -> str:
    """Return a part of a paragraph as HTML; all texts, including those of models, are escaped."""
    if isinstance(piece, str):
        return escape(piece)
    if "n" in piece:
        whose = escape(piece["as"])
        return f'<span class="n n-{whose}" data-names="{whose}">{escape(piece["n"])}</span>'
    if "w" in piece:
        return f'<b class="token">{escape(flat(piece["w"]))}</b>'
    if "a" in piece:
        return f'<a href="{escape(piece["href"])}">{escape(piece["a"])}</a>'
    if "i" in piece:
        return f"<i>{escape(piece['i'])}</i>"
    return f"<b>{escape(piece['b'])}</b>"
