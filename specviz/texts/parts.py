"""Parts of a sentence: text, a token's chip, a coloured number, or a glossary term.

A token stays data, so the page can set it apart from the sentence's own punctuation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

Part = str | dict[str, Any]
Whose = Literal["p", "q", "both", "residual", "u"]

FEW: Final = 3


def number(text: str, whose: Whose) -> Part:
    """A number in the colour of the distribution it belongs to."""
    return {"n": text, "as": whose}


def word(pieces: Sequence[str | dict[str, str]]) -> Part:
    """A token's chip; `pieces` as `specviz.frames.words.word` returns them."""
    return {"w": pieces}


def term(text: str, entry: str) -> Part:
    """A text that opens the glossary's card `entry`."""
    return {"t": text, "term": entry}


def listed(parts: Sequence[Part]) -> list[Part]:
    """Join parts as in "A, B and C"; of more than `FEW`, name the first ones and count the rest."""
    shown, more = list(parts[:FEW]), len(parts) - FEW
    if more > 0:
        shown.append(f"{more} more")
    joined: list[Part] = []
    for index, part in enumerate(shown):
        if index:
            joined.append(" and " if index == len(shown) - 1 else ", ")
        joined.append(part)
    return joined
