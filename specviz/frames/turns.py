"""A conversation on the text strip: its turns, and what the template wrote in and around them."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from specviz.trace.chat import Chat

Block = dict[str, Any]

TEMPLATE: Final = "template"  # who speaks where the template says something of its own accord


def turns(chat: Chat) -> list[Block]:
    """The prompt turn by turn: who speaks, and pieces of text with their author, in order.

    The last is the answer's beginning. Put together, the texts are all that the model read.
    """
    roles: list[str] = [*(turn.role for turn in chat.turns), "assistant"]
    blocks: list[Block] = []
    for place, pieces in groupby(chat.pieces, lambda piece: piece.turn):
        parts = [{"is": piece.kind, "t": piece.text} for piece in pieces if piece.text]
        says = any(part["is"] == "template" and part["t"].strip() for part in parts)
        role = roles[place] if place is not None else TEMPLATE if says else ""
        blocks.append({"role": role, "parts": parts})
    return blocks
