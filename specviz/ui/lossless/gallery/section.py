"""The gallery: the browser requests the list when its tab opens, then evidence for each case."""

from __future__ import annotations

from typing import Any, Final

from specviz.frames.scene import word
from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox.presets import WORDS

NAME: Final = "sv-wild"


def answered(text: Any) -> str:
    """Call `answer.answer`. torch is imported for the first question, not for the page."""
    from specviz.ui.lossless.gallery.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    words = [word(text.encode()) for text in WORDS]
    view = component(NAME, "lossless/gallery/gallery", {"words": words})
    question.wire(view, "wild", f"{NAME}-ask", answered)
