"""Tokens of a position as pieces, as nodes of a tree, and in quotes for a sentence."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.figures.layout import LayoutData
from specviz.figures.tree import Label, label
from specviz.frames.scene import Word, flat, special, word
from specviz.trees.recorded_position import RecordedPosition

ROOM: Final = 96.0  # pixels of a word in its pill


class TreeNode(TypedDict):
    """A token of a tree as the page draws it."""

    w: Word
    label: Label
    parent: int
    depth: int


class Tree(TypedDict):
    """A tree as the page draws it."""

    nodes: list[TreeNode]
    layout: LayoutData


def shown(field: RecordedPosition, token: int) -> Word:
    """Return a token as pieces."""
    data = field.token_bytes(token)
    return special(data) if token in field.eos else word(data)


def drawn(field: RecordedPosition, token: int, parent: int, depth: int) -> TreeNode:
    """Return a token as a node of a tree."""
    pieces = shown(field, token)
    return {"w": pieces, "label": label(pieces, ROOM), "parent": parent, "depth": depth}


def quoted(field: RecordedPosition, token: int) -> str:
    """Return a token in quotes, for a sentence."""
    name = flat(shown(field, token))
    return "‘" + "".join(c if c.isprintable() else "\ufffd" for c in name) + "’"
