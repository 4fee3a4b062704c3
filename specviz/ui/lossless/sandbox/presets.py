"""Pairs of distributions to start the sandbox with, each showing one effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specviz.frames.scene import word

WORDS: Final = (" cat", " dog", " bird", " man", " tree")


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset.

    Attributes:
        name: Its name in links.
        title: Its name on the page.
        p: The target's distribution over the words.
        q: The drafter's distribution over the words.
        rule: Name of the rule that it selects for sampled guesses; "" keeps what is selected.
        words: The words.
    """

    name: str
    title: str
    p: tuple[float, ...]
    q: tuple[float, ...]
    rule: str = ""
    words: tuple[str, ...] = WORDS

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON for the page."""
        words = [word(text.encode()) for text in self.words]
        laws = {"p": list(self.p), "q": list(self.q)}
        return {"name": self.name, "title": self.title, "words": words, "rule": self.rule, **laws}


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
        ("darts", "Von Neumann’s dartboard", (0.4, 0.25, 0.2, 0.1, 0.05), SOME, "accept-reject"),
    )
)
