"""Collect the shapes of a tree in batches, one per trace, and draw words with visible white space.

The name of a trace consists of its drawing order, its kind and its state, as in 20-pill-accepted.
Verdict marks and white-space glyphs are drawn on a 12 by 12 grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from specviz.figures.plot import Batch, Point, Trace, cut, rounded, short, texts, width
from specviz.frames.scene import Word, flat

Path = list[Point]


def _arc(x: float, y: float, r: float, start: float, stop: float, steps: int = 14) -> Path:
    angles = [math.radians(start + (stop - start) * i / steps) for i in range(steps + 1)]
    return [(x + r * math.cos(a), y + r * math.sin(a)) for a in angles]


STAR: Final[Path] = [
    (6, 0.8), (7.6, 4.3), (11.4, 4.7), (8.6, 7.3), (9.4, 11.1), (6, 9.2),
    (2.6, 11.1), (3.4, 7.3), (0.6, 4.7), (4.4, 4.3), (6, 0.8),
]  # fmt: skip


MARKS: Final[Mapping[str, list[Path]]] = {
    "accepted": [[(2, 6.5), (4.8, 9.3), (10.2, 2.9)]],
    "rejected": [[(2.4, 2.4), (9.6, 9.6)], [(9.6, 2.4), (2.4, 9.6)]],
    "recovered": [_arc(6, 6, 4.3, 15, 310), [(10.6, 1.2), (10.6, 4.6), (7.2, 4.6)]],
    "bonus": [STAR],
    "unreached": [_arc(6, 6, 1.6, 0, 360, 8)],
}


GLYPH_WIDTHS: Final[Mapping[str, float]] = {"space": 7, "newline": 13, "tab": 13, "return": 11}


def mark_at(state: str, x: float, y: float) -> list[Path]:
    """Return the mark of a state, with the top left corner of its grid at (x, y)."""
    return [[(x + dx, y + dy) for dx, dy in path] for path in MARKS[state]]


def glyph_at(name: str, x: float, y: float) -> list[Path]:
    """Return a white-space glyph that starts at x, in a line of text whose middle is y."""
    drawings: dict[str, list[Path]] = {
        "space": [[(0.5, 2), (0.5, 5), (5.5, 5), (5.5, 2)]],
        "newline": [[(10, -4), (10, 2), (2, 2)], [(4.5, -1), (1.5, 2), (4.5, 5)]],
        "return": [[(9, 2), (1, 2)], [(4, -1), (1, 2), (4, 5)]],
        "tab": [[(1, 0), (9, 0)], [(6, -3), (9, 0), (6, 3)], [(11, -3), (11, 3)]],
    }
    return [[(x + dx, y + dy) for dx, dy in path] for path in drawings[name]]


def styled_mark(state: str, batch: Batch) -> Trace:
    """Return the trace of a batch of marks, in the colour of their state."""
    match state:
        case "accepted":
            return batch.lines("--b-ink", 2)
        case "rejected":
            return batch.lines("--ink", 2.1)
        case "recovered":
            return batch.lines("--r-ink", 1.7)
        case "bonus":
            return batch.filled("--p-ink")
        case _:
            return batch.filled("--ink3")


PILL_HEIGHT: Final = 26
FONT_SIZE: Final = 14
MAX_WORD_WIDTH: Final = 56
FALLBACK_FACTOR: Final = 1.14  # DejaVu Sans, the fallback, is wider than Arial by this factor


FILLS: Final[Mapping[str, tuple[str, str | None, float, str]]] = {
    "waiting": ("--bg", "--line2", 1.25, "solid"),
    "accepted": ("--b-soft", None, 0, "solid"),
    "rejected": ("--rejected-soft", "--rejected-line", 1.5, "solid"),
    "unreached": ("--bg", "--dead", 1.25, "3px 3px"),
    "recovered": ("--r-soft", "--r-line", 2, "2px 3px"),
    "bonus": ("--p-soft", "--p", 1.25, "solid"),
    "plain": ("--panel", "--line2", 1.25, "solid"),
    "slot": ("--bg", "--dead", 1.5, "2px 3px"),
}


EDGES: Final[Mapping[str, str]] = {
    "accepted": "--b",
    "rejected": "--rejected",
    "recovered": "--r-line",
    "bonus": "--p",
    "plain": "--p",
}


BARS: Final[Mapping[str, str]] = {"p": "--p", "soft": "--dead", "q": "--q", "underline": "--b"}
LINES: Final[Mapping[str, tuple[str, float]]] = {
    "here": ("--ink", 1.5),
    "strike": ("--ink", 2),
    "glyph": ("--ink3", 1.2),
}


@dataclass
class Drawing:
    """A figure in progress.

    Attributes:
        batches: Shapes by the name of their trace.
        words: x, y, text and colour of each word.
        hover: x, y, hover text and node of each hover target.
        root_end: Where the root's word ends.
    """

    batches: dict[str, Batch] = field(default_factory=dict)
    words: list[tuple[float, float, str, str]] = field(default_factory=list)
    hover: list[tuple[float, float, str, int]] = field(default_factory=list)
    root_end: float = 0

    def add(self, name: str, points: list[Point]) -> None:
        """Add a shape to the trace called `name`."""
        self.batches.setdefault(name, Batch()).add(points)

    def pill(self, word: Word, state: str, x: float, y: float) -> float:
        """Draw a word in a pill with the mark of its state, and return the pill's width.

        Args:
            word: The word.
            state: A key of FILLS.
            x: The pill's left end.
            y: The pill's middle.
        """
        wide = pill_width(word, state)
        self.add(f"20-pill-{state}", rounded(x, y - PILL_HEIGHT / 2, wide, PILL_HEIGHT))
        start = x + (wide / 2 - 4 if state == "slot" else 8)
        end = self.word(
            word, start, y, "--ink3" if state == "unreached" else "--ink", MAX_WORD_WIDTH
        )
        for path in mark_at(state, x + wide - 18, y - 6) if state in MARKS else []:
            self.add(f"50-mark-{state}", path)
        if state == "rejected":
            self.add("60-strike", [(x + 7, y + 1), (end + 1, y + 1)])
        return wide

    def word(self, word: Word, x: float, y: float, ink: str, max_width: float) -> float:
        """Draw a word from x on, cut to `max_width` pixels, and return where it ends."""
        end = x + max_width
        for piece in word:
            if x >= end - 2:
                break
            if isinstance(piece, dict) and "g" in piece:
                for path in glyph_at(piece["g"], x, y):
                    self.add("61-glyph", path)
                x += GLYPH_WIDTHS[piece["g"]]
                continue
            text = cut(flat([piece]), FONT_SIZE, end - x)
            self.words.append((x, y, text, ink))
            x += width(text, FONT_SIZE)
        return x

    def traces(self) -> dict[str, Trace]:
        """Return plotly traces by name; the hover targets, drawn last, are invisible."""
        made = {name: styled(name, batch) for name, batch in self.batches.items()}
        made["70-words"] = texts(self.words, FONT_SIZE, "middle right")
        made["80-hover"] = {
            "mode": "markers",
            "x": [short(x) for x, *_ in self.hover],
            "y": [short(y) for _, y, *_ in self.hover],
            "hovertext": [text for *_, text, _ in self.hover],
            "customdata": [node for *_, node in self.hover],
            "hoverinfo": "text",
            "marker": {"size": 34, "opacity": 0},
        }
        return made


def word_width(word: Word) -> float:
    """Return the width of a word as drawn, including its glyphs."""
    return sum(_piece_width(piece) for piece in word)


def _piece_width(piece: str | dict[str, str]) -> float:
    if isinstance(piece, dict) and "g" in piece:
        return GLYPH_WIDTHS[piece["g"]]
    return width(flat([piece]), FONT_SIZE)


def pill_width(word: Word, state: str) -> float:
    """Return the width of a pill with its word and its mark."""
    mark = 16 if state in MARKS else 0
    wide = min(word_width(word) * FALLBACK_FACTOR, MAX_WORD_WIDTH)
    return max(wide + mark + 16, 30 if state != "slot" else 56)


def styled(name: str, batch: Batch) -> Trace:
    """Return a batch as a trace, in the style of the kind and state in its name."""
    kind, _, state = name[3:].partition("-")
    if kind == "pill":
        return batch.filled(*FILLS[state])
    if kind == "edge":
        return batch.filled(EDGES.get(state, "--edge"))
    if kind == "mark":
        return styled_mark(state, batch)
    if kind in BARS:
        pale = "-soft" if state == "left" else ""
        return batch.filled(BARS[kind] + pale) | {"opacity": 0.45 if state == "dim" else 1}
    if kind == "slot":
        return batch.lines(EDGES.get(state, "--dead"), 1.5 if state == "slot" else 3, "2px 3px")
    return batch.lines(*LINES[kind])
