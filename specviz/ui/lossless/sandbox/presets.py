"""Pairs of distributions to start the sandbox with, each showing one effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specviz.frames.words import word

WORDS: Final = (" cat", " dog", " bird", " man", " tree")


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset. p, q: distributions over the words."""

    name: str
    title: str
    p: tuple[float, ...]
    q: tuple[float, ...]
    words: tuple[str, ...] = WORDS

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON for the page."""
        words = [word(text.encode()) for text in self.words]
        laws = {"p": list(self.p), "q": list(self.q)}
        return {"name": self.name, "title": self.title, "words": words, **laws}


SOME: Final = (0.1, 0.45, 0.15, 0.25, 0.05)
DOG: Final = (0.25, 0.55, 0.1, 0.07, 0.03)
SAME: Final = (0.4, 0.3, 0.15, 0.1, 0.05)
SURE: Final = (0.9, 0.04, 0.03, 0.02, 0.01)
PRESETS: Final = tuple(
    Preset(*row)
    for row in (
        # The worked example of the field's sheets: its numbers are all known.
        ("example", "They agree on some words", (0.4, 0.25, 0.2, 0.1, 0.05), SOME),
        ("near", "A good drafter", (0.5, 0.25, 0.15, 0.07, 0.03), (0.45, 0.3, 0.13, 0.09, 0.03)),
        ("sure", "A confident drafter that is wrong", (0.1, 0.4, 0.3, 0.15, 0.05), SURE),
        ("flat", "A drafter that guesses at random", (0.6, 0.2, 0.12, 0.05, 0.03), (0.2,) * 5),
        ("same", "The target drafts for itself", SAME, SAME),
        (
            "apart",
            "They have no word in common",
            (0.6, 0.4, 0.0, 0.0, 0.0),
            (0.0, 0.0, 0.5, 0.3, 0.2),
        ),
        ("top", "Temperature 0: p is one word", (0.0, 1.0, 0.0, 0.0, 0.0), DOG),
    )
)
