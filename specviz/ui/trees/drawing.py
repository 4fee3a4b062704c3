"""Tokens and trees of a position as the page's script draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from specviz.figures.drawing import FALLBACK_FACTOR, FONT_SIZE
from specviz.figures.layout import GAP, tree_layout
from specviz.figures.plot import cut, width
from specviz.frames.scene import Word, flat, special, word
from specviz.trees.recorded_position import RecordedPosition

ROOM: Final = 96.0  # pixels of a word in its pill
SIDES: Final = 16.0
LEAST: Final = 30.0


def shown(field: RecordedPosition, token: int) -> Word:
    """Return a token as pieces."""
    data = field.token_bytes(token)
    return special(data) if token in field.eos else word(data)


def label(field: RecordedPosition, token: int) -> str:
    """Return a token as one line, cut to the width of a box."""
    return cut(flat(shown(field, token)), FONT_SIZE, ROOM)


def pill(text: str) -> float:
    """Return the width of a box with this text."""
    return max(LEAST, round(width(text, FONT_SIZE) * FALLBACK_FACTOR + SIDES, 1))


def quoted(field: RecordedPosition, token: int) -> str:
    """Return a token in quotes, for a sentence."""
    name = flat(shown(field, token))
    return "‘" + "".join(c if c.isprintable() else "\ufffd" for c in name) + "’"


def placed(
    field: RecordedPosition,
    tokens: Sequence[int],
    parents: Sequence[int],
    gap: float = GAP,
    names: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the layout of a tree in pixels.

    Args:
        field: The position.
        tokens: Tokens by node.
        parents: Parents by node.
        gap: Distance between columns.
        names: Names of the nodes; their numbers if omitted.
    """
    labels = [label(field, token) for token in tokens]
    widths = [pill(text) for text in labels]
    made = tree_layout(parents, widths, gap)
    called = range(len(tokens)) if names is None else names
    rows = zip(called, made.x, made.y, widths, labels, strict=True)
    return {
        "places": {str(name): [x, y, wide, text] for name, x, y, wide, text in rows},
        "columns": made.columns,
        "width": made.width,
        "height": made.height,
        "gap": gap,
    }
