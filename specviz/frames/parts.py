"""What sentences are made of: text, {"w": word}, or {"n": number, "as": whose number it is}.

A word stays data, so whoever shows it can set it apart from the sentence's own full stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

Part = str | dict[str, Any]


Whose = Literal["p", "q", "both", "residual", "u"]


FEW: Final = 3


def number(text: str, whose: Whose) -> Part:
    """A number in a sentence, marked with whose it is."""
    return {"n": text, "as": whose}


def listed(words: Sequence[Part]) -> list[Part]:
    """A, B and C; of many the first few, and how many more."""
    shown, more = words[:FEW], len(words) - FEW
    if more > 0:
        shown = [*shown, f"{more} more"]
    parts: list[Part] = []
    for place, word in enumerate(shown):
        joint = "" if not place else " and " if place == len(shown) - 1 else ", "
        parts += [joint, word] if joint else [word]
    return parts
