"""The gallery: the browser asks for the list once its tab is open, and for evidence by the case."""

from __future__ import annotations

from typing import Any, Final

from specviz.frames.words import word
from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox.presets import WORDS

NAME: Final = "sv-wild"


def answered(text: Any) -> str:
    """See `answer.answer`; torch is brought in by the first question, not by the page."""
    from specviz.ui.lossless.gallery.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    words = [word(text.encode()) for text in WORDS]
    view = component(NAME, "lossless/gallery/gallery", {"words": words})
    question.wire(view, "wild", f"{NAME}-ask", answered)
