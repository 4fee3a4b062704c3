"""Early exit: which of the target's layers already predict a guess, and which have run on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from specviz.frames.evidence.forms import Block, Cell, Remark, evidence, grid, guessed, row, window
from specviz.frames.scene import Scene, Step
from specviz.texts import say
from specviz.trace.events import Round

NOW: Final = 4
BEFORE: Final = 3
KEYS: Final = (
    ("on", "it is the layer's top token"),
    ("off", "the layer predicts another"),
    ("none", "has not run yet"),
)


def layers(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """A row a guess, a column a layer: this round's guesses, then the verified round before."""
    deepest, leave = remark["layers"], remark["exit"]
    found = [
        row(
            guessed(scene, node),
            states(deepest, given["agree"], leave),
            tail=_span(given["ran"]),
        )
        for node in window(scene, step, NOW)
        for given in [evidence(scene.guesses[node - 1])]
    ]
    before = _before(scene, remark.get("before") or {}, deepest)
    numbers = [_name(k, leave, deepest) for k in range(1, deepest + 1)]
    heads = ["this round", *numbers, "ran on it"]
    blocks = [grid(heads, [*found, *before], KEYS, split=leave, states=True)]
    why = say("evidence", "layers_why", exit=leave, last=deepest)
    return {"say": why, "blocks": blocks}


def states(layers: int, agree: Sequence[int], ran: int) -> list[Cell]:
    """A cell for each layer: it predicts the guess, predicts another token, or has not run."""
    return [
        {"s": "none" if k > ran else "on" if k in agree else "off"} for k in range(1, layers + 1)
    ]


def _span(ran: int) -> str:
    return f"1–{ran}" if ran > 1 else "1" if ran else "none yet"


def _name(layer: int, leave: int, layers: int) -> str:
    """The layer's number over its column; only a few are shown if there are many layers."""
    shown = layers <= 16 or layer in (1, leave, layers)
    return str(layer) if shown else ""


def _before(scene: Scene, before: Remark, layers: int) -> list[Block]:
    """The judged guesses of the round before, and its last token, with all layers run."""
    past = scene.earlier[-1] if scene.earlier else None
    if not before or past is None or past.proposed is None or past.committed is None:
        return []
    kept = {judged.node: judged.accepted for judged in past.judged}
    ran = f"1–{layers}"
    found = [
        row(
            scene.word(past.proposed.guesses[node - 1].token),
            states(layers, agree, layers),
            tail=ran,
            mark="accepted" if kept.get(node) else "rejected",
        )
        for node, agree in _numbered(before["verified"].items())
        if node <= len(past.proposed.guesses)
    ]
    shown = _few(found)
    if before.get("final") is not None:
        shown.append(_last(scene, past, before["final"], layers))
    if shown:
        shown[0]["group"] = f"round {past.number}, verified"
    return shown


def _numbered(pairs: Iterable[tuple[str, list[int]]]) -> list[tuple[int, list[int]]]:
    return sorted((int(node), agree) for node, agree in pairs)


def _few(found: list[Block]) -> list[Block]:
    """The guesses that fit on screen; accepted ones first, since the text continued with them."""
    if len(found) <= BEFORE:
        return found
    order = sorted(range(len(found)), key=lambda i: found[i]["mark"] != "accepted")[:BEFORE]
    return [found[i] for i in sorted(order)]


def _last(scene: Scene, past: Round, agree: Sequence[int], layers: int) -> Block:
    assert past.committed is not None
    token = past.committed.tokens[-1]
    kind = past.drew.kind if past.drew else "plain"
    cells = states(layers, agree, layers)
    return row(scene.word(token), cells, tail=f"1–{layers}", mark=kind)
