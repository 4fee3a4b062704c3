"""Tokens of a position as the page shows them."""

from __future__ import annotations

from typing import Final

from specviz.figures.drawing import FALLBACK_FACTOR, FONT_SIZE
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
