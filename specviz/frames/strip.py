"""The text strip: a conversation's turns, the round's chips, and the tokens of finished rounds."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final, NamedTuple

from specviz.frames.scene import Scene, Step
from specviz.frames.tree import State, states
from specviz.frames.words import Word
from specviz.trace.chat import Chat
from specviz.trace.metrics import accepted_path

Chip = dict[str, Any]
Block = dict[str, Any]

TEMPLATE: Final = "template"  # the role of text that the chat template adds between turns


def chips(scene: Scene, step: Step) -> list[Chip]:
    """The branch being followed, one chip a token: accepted so far, on trial, and beyond."""
    if step.kind == "commit":
        return [{"w": token.word, "is": token.kind} for token in added_tokens(scene)]
    found = states(scene, step)
    line: list[Chip] = []
    node: int | None = 0
    while node is not None:
        node, passed = _next(scene, found, node)
        line += [_chip(scene, found, child) for child in passed]
    if step.kind == "draw" and scene.round.drew:
        # The drawn token replaces what was not reached, and what came after a rejected guess.
        last = scene.depths[scene.round.drew.parent] + 1
        line = [c for c in line if c["is"] != "unreached" and scene.depths[c["node"]] <= last]
        line.append({"w": scene.word(scene.round.drew.token), "is": scene.round.drew.kind})
    return line


def _next(scene: Scene, found: dict[int, State], node: int) -> tuple[int | None, list[int]]:
    """The child with which the line continues, preceded by the siblings rejected before it."""
    seen = [child for child in scene.children[node] if child in found]
    rejected = [child for child in seen if found[child] == "rejected"]
    for state in ("accepted", "waiting", "unreached"):
        onward = next((child for child in seen if found[child] == state), None)
        if onward is not None:
            return onward, [*[c for c in rejected if c < onward], onward]
    return (rejected[-1] if rejected else None), rejected


def _chip(scene: Scene, found: dict[int, State], node: int) -> Chip:
    token = scene.guesses[node - 1].token
    return {"w": scene.word(token), "is": found[node], "node": node}


class AddedToken(NamedTuple):
    """A token that a round added to the text: its kind, and the step that decided it."""

    word: Word
    kind: str
    step: int


def added_tokens(scene: Scene) -> list[AddedToken]:
    """The tokens that the round added to the text."""
    committed = scene.round.committed
    if committed is None:
        return []
    accepted = accepted_path(scene.round)
    by = next((j.node for j in reversed(scene.round.judged) if j.accepted), 0)
    last = scene.round.drew.kind if scene.round.drew else "accepted"
    decided = {
        scene.round.judged[step.at].node: i
        for i, step in enumerate(scene.steps)
        if step.kind == "judge"
    }
    drawn = next((i for i, step in enumerate(scene.steps) if step.kind == "draw"), 0)
    return [
        AddedToken(scene.word(token), "accepted", decided.get(accepted[index], decided.get(by, 0)))
        if index < len(accepted)
        else AddedToken(scene.word(token), last, drawn)
        for index, token in enumerate(committed.tokens)
    ]


def turns(chat: Chat) -> list[Block]:
    """The prompt turn by turn: its role, and its pieces of text with their author, in order.

    The last turn is the start of the answer. Joined, the texts are all that the model read.
    """
    roles: list[str] = [*(turn.role for turn in chat.turns), "assistant"]
    blocks: list[Block] = []
    for index, pieces in groupby(chat.pieces, lambda piece: piece.turn):
        parts = [{"is": piece.kind, "t": piece.text} for piece in pieces if piece.text]
        has_text = any(part["is"] == "template" and part["t"].strip() for part in parts)
        role = roles[index] if index is not None else TEMPLATE if has_text else ""
        blocks.append({"role": role, "parts": parts})
    return blocks
