"""The gallery: the browser requests the list when its tab opens, then evidence for each case."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.frames.scene import Word, word
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox import WORDS

NAME: Final = "sv-wild"


class Config(TypedDict):
    """What the section starts with: the words of the rules' own p and q."""

    words: list[Word]


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {"words": [word(text.encode()) for text in WORDS]}
    component(NAME, "lossless/gallery/gallery", config)
    place.questions.add("gallery", "specviz.ui.lossless.gallery.answer")
