"""The gallery: the browser requests the list when its tab opens, then evidence for each case."""

from __future__ import annotations

from typing import Final

from specviz.frames.scene import word
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox.section import WORDS

NAME: Final = "sv-wild"


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    words = [word(text.encode()) for text in WORDS]
    component(NAME, "lossless/gallery/gallery", {"words": words})
    place.questions.add("gallery", "specviz.ui.lossless.gallery.answer")
