"""Tokens of a position as pieces, as labels in a tree, and in quotes for a sentence."""

from __future__ import annotations

from typing import Any, Final

from specviz.figures import tree
from specviz.frames.scene import Word, flat, special, word
from specviz.trees.recorded_position import RecordedPosition

ROOM: Final = 96.0  # pixels of a word in its pill


def shown(field: RecordedPosition, token: int) -> Word:
    """Return a token as pieces."""
    data = field.token_bytes(token)
    return special(data) if token in field.eos else word(data)


def drawn(field: RecordedPosition, token: int) -> dict[str, Any]:
    """Return a token as pieces, and as the label of its pill."""
    pieces = shown(field, token)
    return {"w": pieces, "label": tree.label(pieces, ROOM)}


def quoted(field: RecordedPosition, token: int) -> str:
    """Return a token in quotes, for a sentence."""
    name = flat(shown(field, token))
    return "‘" + "".join(c if c.isprintable() else "\ufffd" for c in name) + "’"
