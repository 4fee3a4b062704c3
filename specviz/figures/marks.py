"""The marks of what happened, and white space made visible: small drawings on a 12 by 12 grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from specviz.figures.plot import Batch, Point, Trace

Path = list[Point]


def _arc(x: float, y: float, r: float, start: float, stop: float, steps: int = 14) -> Path:
    angles = [math.radians(start + (stop - start) * i / steps) for i in range(steps + 1)]
    return [(x + r * math.cos(a), y + r * math.sin(a)) for a in angles]


STAR: Final[Path] = [
    (6, 0.8), (7.6, 4.3), (11.4, 4.7), (8.6, 7.3), (9.4, 11.1), (6, 9.2),
    (2.6, 11.1), (3.4, 7.3), (0.6, 4.7), (4.4, 4.3), (6, 0.8),
]  # fmt: skip
PATHS: Final[Mapping[str, list[Path]]] = {
    "accepted": [[(2, 6.5), (4.8, 9.3), (10.2, 2.9)]],
    "rejected": [[(2.4, 2.4), (9.6, 9.6)], [(9.6, 2.4), (2.4, 9.6)]],
    "recovered": [_arc(6, 6, 4.3, 15, 310), [(10.6, 1.2), (10.6, 4.6), (7.2, 4.6)]],
    "bonus": [STAR],
    "unreached": [_arc(6, 6, 1.6, 0, 360, 8)],
}
GLYPH: Final[Mapping[str, float]] = {"space": 7, "newline": 13, "tab": 13, "return": 11}


def placed(state: str, x: float, y: float) -> list[Path]:
    """A state's mark with its grid's top left corner at (x, y)."""
    return [[(x + dx, y + dy) for dx, dy in path] for path in PATHS[state]]


def glyph(name: str, x: float, y: float) -> list[Path]:
    """White space at x, on a line of text whose middle is y."""
    drawings: dict[str, list[Path]] = {
        "space": [[(0.5, 2), (0.5, 5), (5.5, 5), (5.5, 2)]],
        "newline": [[(10, -4), (10, 2), (2, 2)], [(4.5, -1), (1.5, 2), (4.5, 5)]],
        "return": [[(9, 2), (1, 2)], [(4, -1), (1, 2), (4, 5)]],
        "tab": [[(1, 0), (9, 0)], [(6, -3), (9, 0), (6, 3)], [(11, -3), (11, 3)]],
    }
    return [[(x + dx, y + dy) for dx, dy in path] for path in drawings[name]]


def styled(state: str, batch: Batch) -> Trace:
    """A batch of one mark in its colour."""
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
