"""Text widths in Arial (Helvetica and Liberation Sans have the same), to fit pills to their words.

Widths are the published metrics in thousandths of the font size; other scripts are estimates.
"""

from __future__ import annotations

import unicodedata
from typing import Final

ASCII: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip


OTHER: Final = 600
WIDE: Final = 1300


def width(text: str, size: float) -> float:
    """The width of one line of text, in the unit of `size`."""
    return sum(map(_advance, text)) * size / 1000


def _advance(char: str) -> int:
    if " " <= char <= "~":
        return ASCII[ord(char) - 32]
    if unicodedata.combining(char) or unicodedata.category(char) == "Mn":
        return 0
    return WIDE if unicodedata.east_asian_width(char) in "WF" else OTHER


def cut(text: str, size: float, space: float) -> str:
    """Shorten a text with an ellipsis until it is at most `space` wide."""
    if width(text, size) <= space:
        return text
    while text and width(text + "…", size) > space:
        text = text[:-1]
    return text + "…"
