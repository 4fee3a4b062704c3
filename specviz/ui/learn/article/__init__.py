"""The article: one long page, whose figures are excerpts of recorded runs, or can be changed.

Its file has the format of a lesson (see `lessons`), with further keys for an excerpt: `show` (parts
of the player), `height` in pixels and `caption`. A paragraph `::NAME` is a formula, a paragraph
`::NAME(ROUND STEP) CAPTION` a figure of the article's own script with the numbers of a step, and a
paragraph that begins with `>` a side note to the block before it. It is a separate HTML page,
without Gradio.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from typing import Any, Final
from urllib.parse import urlencode

from specviz.frames.scene import flat
from specviz.shipped import ASSETS
from specviz.ui.learn.article.formulas import FORMULAS
from specviz.ui.learn.figures import FIGURES
from specviz.ui.learn.lessons import Figure, Lesson, LessonStep, Paragraph, Place, read
from specviz.ui.policy import NOTHING, script_hash
from specviz.ui.routes import UI_FOLDER, script_text

FILE: Final = ASSETS / "article.md"
TEMPLATE: Final = UI_FOLDER / "learn/article/article.html"
STYLES: Final = ("shared/10-colours", "shared/30-marks", "shared/61-bars", "learn/81-gain")
FORMULA: Final = re.compile(r"::(\w+)\Z")
OWN: Final = re.compile(r"::(\w+)\((\d+) ([\w-]+)\) ")
NOTE: Final = "> "


@cache
def article() -> str:
    """Return the article as HTML. Raises BadLesson if a run that it needs is missing."""
    found = read(FILE)
    template = TEMPLATE.read_text(encoding="utf-8")
    parts = {
        "title": escape(found["title"]),
        "lead": escape(found["question"]),
        "minutes": str(found["minutes"]),
        "styles": "".join(
            (UI_FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in STYLES
        ),
        "script": script_text("article"),
        "contents": "".join(map(_entry, found["steps"])),
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


def _entry(step: LessonStep) -> str:
    return f'<li><a href="#{escape(_name(step))}">{escape(step["title"])}</a></li>'


def _section(step: LessonStep) -> str:
    first, *rest = _blocks(step)
    figure = step.get("figure")
    shown = _figure(figure, step) if figure else ""
    return (
        f'<section id="{escape(_name(step))}"><h2>{escape(step["title"])}</h2>'
        f"{first}{shown}{''.join(rest)}</section>"
    )


def _name(step: LessonStep) -> str:
    return step["title"].lower().replace(" ", "-").strip("?")


def _blocks(step: LessonStep) -> list[str]:
    blocks: list[str] = []
    for paragraph in step["text"]:
        start, *rest = paragraph
        if isinstance(start, str) and start.startswith(NOTE):
            note = _inline([start.removeprefix(NOTE), *rest])
            blocks[-1] = f'<div class="noted">{blocks[-1]}<aside>{note}</aside></div>'
        else:
            blocks.append(_block(paragraph, step))
    return blocks


def _block(paragraph: Paragraph, step: LessonStep) -> str:
    start, *rest = paragraph
    if not isinstance(start, str):
        return f"<p>{_inline(paragraph)}</p>"
    if formula := FORMULA.match(start):
        return f'<div class="formula">{FORMULAS[formula[1]]}</div>'
    if own := OWN.match(start):
        place: Place = {
            "trace": step["place"]["trace"],
            "round": int(own[2]),
            "step": own[3],
        }
        return _own_figure(own[1], place, [start[own.end() :], *rest])
    return f"<p>{_inline(paragraph)}</p>"


def _own_figure(name: str, place: Place, caption: Paragraph) -> str:
    figure = FIGURES[name]
    values = json.dumps(figure.values(place["trace"], place["round"], place["step"]))
    return (
        f'<figure class="own"><div class="{name}" data-figure="{name}"'
        f' data-values="{escape(values)}"></div><figcaption>{_inline(caption)}'
        f' <span class="source">{figure.source}</span></figcaption></figure>'
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
    # All texts, including those of models, are escaped.
    if isinstance(piece, str):
        return escape(piece)
    if "n" in piece:
        whose = escape(piece["as"])
        return f'<span class="n n-{whose}" data-names="{whose}">{escape(piece["n"])}</span>'
    if "w" in piece:
        return f'<b class="token">{escape(flat(piece["w"]))}</b>'
    if "a" in piece:
        address = piece["href"]
        address = f"../../{address}" if address.startswith("?") else address
        return f'<a href="{escape(address)}">{escape(piece["a"])}</a>'
    if "i" in piece:
        return f"<i>{escape(piece['i'])}</i>"
    return f"<b>{escape(piece['b'])}</b>"
