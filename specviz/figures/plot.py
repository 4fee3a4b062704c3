"""Building blocks of figures: batches of shapes, escaped text and text widths.

Text widths are those of Arial, which Helvetica and Liberation Sans share: the published metrics in
thousandths of the font size, and estimates for other scripts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

ASCII_WIDTHS: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip


OTHER_WIDTH: Final = 600
WIDE_WIDTH: Final = 1300


@lru_cache(8192)  # limited, since tokens of visitors change
def width(text: str, size: float) -> float:
    """Return the width of one line of text, in the unit of `size`."""
    return sum(map(_advance, text)) * size / 1000


def _advance(char: str) -> int:
    if " " <= char <= "~":
        return ASCII_WIDTHS[ord(char) - 32]
    if unicodedata.combining(char) or unicodedata.category(char) == "Mn":
        return 0
    return WIDE_WIDTH if unicodedata.east_asian_width(char) in "WF" else OTHER_WIDTH


def cut(text: str, size: float, space: float) -> str:
    """Shorten a text with an ellipsis until it is at most `space` wide."""
    if width(text, size) <= space:
        return text
    while text and width(text + "…", size) > space:
        text = text[:-1]
    return text + "…"


Trace = dict[str, Any]
Point = tuple[float, float]


FONT: Final = "Arial, Helvetica, 'Liberation Sans', sans-serif"


def escaped(text: str) -> str:
    """Escape a text for plotly, which would parse <s> in a label as a tag and drop it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(slots=True)
class Batch:
    """Several shapes drawn as one trace, separated by gaps (None)."""

    x: list[float | None] = field(default_factory=list)
    y: list[float | None] = field(default_factory=list)

    def add(self, points: Sequence[Point]) -> None:
        """Add a shape, given by its corners in order."""
        if self.x:
            self.x.append(None)
            self.y.append(None)
        self.x += [short(x) for x, _ in points]
        self.y += [short(y) for _, y in points]

    def filled(
        self, fill: str, line: str | None = None, width: float = 0, dash: str = "solid"
    ) -> Trace:
        """Return the shapes as filled areas, with an outline if a line colour is given."""
        outline = {"width": width, "color": line or fill, "dash": dash}
        shapes = {"x": self.x, "y": self.y, "fill": "toself", "fillcolor": fill}
        return shapes | {"line": outline}

    def lines(self, color: str, width: float, dash: str = "solid") -> Trace:
        """Return the shapes as lines."""
        return {"x": self.x, "y": self.y, "line": {"width": width, "color": color, "dash": dash}}


def short(value: float) -> float:
    """Round to a tenth of a pixel; whole numbers become int, which is shorter in JSON."""
    tenth = round(value, 1)
    return int(tenth) if tenth == int(tenth) else tenth


def texts(rows: Sequence[tuple[float, float, str, str]], size: int, anchor: str) -> Trace:
    """Return texts as one trace. anchor: plotly's `textposition`."""
    return {
        "mode": "text",
        "x": [short(row[0]) for row in rows],
        "y": [short(row[1]) for row in rows],
        "text": [escaped(row[2]) for row in rows],
        "textposition": anchor,
        "textfont": {"family": FONT, "size": size, "color": [row[3] for row in rows]},
    }
