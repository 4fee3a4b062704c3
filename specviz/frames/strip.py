"""The text strip: the chips of the round in hand, and what a finished round leaves in the text."""

from __future__ import annotations

from typing import Any, NamedTuple

from specviz.frames.scene import Scene, Step
from specviz.frames.tree import State, states
from specviz.frames.words import Word
from specviz.trace.metrics import accepted_path

Chip = dict[str, Any]


def chips(scene: Scene, step: Step) -> list[Chip]:
    """The branch that is being followed, one chip a token: kept so far, on trial, and beyond."""
    if step.kind == "commit":
        return [{"w": token.word, "is": token.kind} for token in brought(scene)]
    found = states(scene, step)
    line: list[Chip] = []
    node: int | None = 0
    while node is not None:
        node, passed = _next(scene, found, node)
        line += [_chip(scene, found, child) for child in passed]
    if step.kind == "draw" and scene.round.drew:
        # What was never reached leaves the line, and the token that was drawn takes its place; so
        # does what stood after a guess that fell.
        last = scene.depths[scene.round.drew.parent] + 1
        line = [c for c in line if c["is"] != "unreached" and scene.depths[c["node"]] <= last]
        line.append({"w": scene.word(scene.round.drew.token), "is": scene.round.drew.kind})
    return line


def _next(scene: Scene, found: dict[int, State], node: int) -> tuple[int | None, list[int]]:
    """The child that the line goes on with, and it with the siblings that fell before it."""
    seen = [child for child in scene.children[node] if child in found]
    fallen = [child for child in seen if found[child] == "rejected"]
    for state in ("accepted", "waiting", "unreached"):
        onward = next((child for child in seen if found[child] == state), None)
        if onward is not None:
            return onward, [*[c for c in fallen if c < onward], onward]
    return (fallen[-1] if fallen else None), fallen


def _chip(scene: Scene, found: dict[int, State], node: int) -> Chip:
    token = scene.guesses[node - 1].token
    return {"w": scene.word(token), "is": found[node], "node": node}


class Brought(NamedTuple):
    """A token that a round added to the text: what it was, and the step that decided on it."""

    word: Word
    kind: str
    step: int


def brought(scene: Scene) -> list[Brought]:
    """The tokens that the round added to the text."""
    committed = scene.round.committed
    if committed is None:
        return []
    kept = accepted_path(scene.round)
    by = next((j.node for j in reversed(scene.round.judged) if j.accepted), 0)
    last = scene.round.drew.kind if scene.round.drew else "accepted"
    decided = {
        scene.round.judged[step.at].node: index
        for index, step in enumerate(scene.steps)
        if step.kind == "judge"
    }
    drawn = next((i for i, step in enumerate(scene.steps) if step.kind == "draw"), 0)
    return [
        Brought(scene.word(token), "accepted", decided.get(kept[place], decided.get(by, 0)))
        if place < len(kept)
        else Brought(scene.word(token), last, drawn)
        for place, token in enumerate(committed.tokens)
    ]
