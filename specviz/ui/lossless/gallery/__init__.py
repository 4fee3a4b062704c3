"""The gallery of published rules: the browser requests the list, then data for each case."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.frames.scene import Word, word
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox import WORDS

NAME: Final = "sv-wild"


class Config(TypedDict):
    """Initial data of the section: the words over which each rule's own p and q are given."""

    words: list[Word]


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {"words": [word(text.encode()) for text in WORDS]}
    component(NAME, "lossless/gallery/gallery", config)
    place.questions.add("gallery", "specviz.ui.lossless.gallery.answer")
