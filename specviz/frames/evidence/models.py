"""Evidence of whole models as drafters: early exit, the bounds of α, and another tokenizer.

Early exit shows which of the target's layers predict a guess, and which have run on it. Two
drafters are bounds of α, the target itself and uniformly random guesses; both bounds are shown. A
draft model with another tokenizer shows what it read and wrote, in its own tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from specviz.frames.evidence.forms import (
    GAP,
    Block,
    Cell,
    GridRow,
    PathRow,
    Remark,
    RowsBlock,
    Why,
    evidence,
    facts,
    grid,
    guess_word,
    main_path,
    marked_line,
    row,
    rows,
    span,
    window,
)
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Scene, Step, word
from specviz.texts import Part, say
from specviz.trace.events import Round

NOW: Final = 4
BEFORE: Final = 3
KEYS: Final = (
    ("on", "the layer's top token is the guess"),
    ("off", "its top token is another"),
    ("none", "the layer has not run yet"),
)


def layers(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show one row per guess and one column per layer, for this round and the previous one."""
    deepest, leave = remark["layers"], remark["exit"]
    found = [
        row(
            guess_word(scene, node),
            states(deepest, given["agree"], leave),
            tail=_span(given["ran"]),
        )
        for node in window(scene, step, NOW)
        for given in [evidence(scene.guesses[node - 1])]
    ]
    before = _before(scene, remark.get("before") or {}, deepest)
    numbers = [_name(k, leave, deepest) for k in range(1, deepest + 1)]
    heads = ["this round", *numbers, "layers run"]
    blocks = [grid(heads, [*found, *before], KEYS, split=leave, states=True)]
    why = say("evidence", "layers_why", exit=leave, last=deepest)
    return {"say": why, "blocks": blocks}


def states(layers: int, agree: Sequence[int], ran: int) -> list[Cell]:
    """Return one cell per layer: whether it predicts the guess or another token, or did not run."""
    return [
        {"s": "none" if k > ran else "on" if k in agree else "off"} for k in range(1, layers + 1)
    ]


def _span(ran: int) -> str:
    return f"1–{ran}" if ran > 1 else "1" if ran else "none yet"


def _name(layer: int, leave: int, layers: int) -> str:
    # If there are many layers, most headers are empty.
    shown = layers <= 16 or layer in (1, leave, layers)
    return str(layer) if shown else ""


def _before(scene: Scene, before: Remark, layers: int) -> list[GridRow]:
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


def _few(found: list[GridRow]) -> list[GridRow]:
    if len(found) <= BEFORE:
        return found
    order = sorted(range(len(found)), key=lambda i: found[i]["mark"] != "accepted")[:BEFORE]
    return [found[i] for i in sorted(order)]


def _last(scene: Scene, past: Round, agree: Sequence[int], layers: int) -> GridRow:
    assert past.committed is not None
    token = past.committed.tokens[-1]
    kind = past.drew.kind if past.drew else "plain"
    cells = states(layers, agree, layers)
    return row(scene.word(token), cells, tail=f"1–{layers}", mark=kind)


def upper_bound(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show that the target drafts for itself, at the cost of full passes."""
    passes, fixed = remark["passes"], scene.point_mass
    # Above temperature 0, a sample of p is always accepted, and a guess that is not sampled with
    # probability p.
    best = "no other way of choosing one guess" if fixed and not scene.greedy else "no other draft"
    why = say("evidence", "upper_why", best=best, passes=passes)
    price = facts(("full target passes spent on guessing", passes))
    return {"say": why, "blocks": [_scale(scene, "oracle"), price]}


def lower_bound(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show that every token of the vocabulary is equally likely to be guessed."""
    size = remark["vocabulary"]
    random = facts(
        ("tokens to choose from", size), ("probability of each", format_nonzero(1 / size))
    )
    why = say("evidence", "lower_why", lossless=scene.header.lossless)
    return {"say": why, "blocks": [_scale(scene, "uniform"), random]}


def _scale(scene: Scene, which: str) -> RowsBlock:
    # Above temperature 0, α of guesses that are not sampled depends on p, so there are no bars.
    loose = scene.point_mass and not scene.greedy
    guesses = ("one random token", "its top token") if scene.point_mass else ("q = 1/V", "q = p")
    ends = (
        ("uniform", guesses[0], "near 0", 0.0),
        ("oracle", guesses[1], "its p" if loose else "1", 1.0),
    )
    found: list[PathRow] = []
    for name, guess, alpha, bar in ends:
        end: PathRow = {"at": "", "words": [[f"{name}: {guess}"]], "text": [alpha]}
        if not loose:
            end["bar"] = bar
        if name == which:
            end["here"] = True
        found.append(end)
    return rows(["", "limits", "α"], found)


SHOWN: Final = 8  # how many of the draft model's own tokens are shown


def rewritten(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the draft model's output in its own tokens, and in the target's tokens."""
    own = [word(token.encode("latin-1")) for token in remark["written"]]
    if not own:
        return None
    more = [GAP] if len(own) > SHOWN else []
    mine = [guess_word(scene, node) for node in main_path(scene, step)]
    blocks: list[Block] = [
        marked_line("its output", span("match", own[:SHOWN]), *more),
        marked_line("the guesses", span("copied", mine)),
        facts(("text length in the draft model's tokens", remark["own_tokens"])),
    ]
    return {"say": say("evidence", "rewritten_why"), "blocks": blocks}


def intersection(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show how many tokens both vocabularies share; only these can be guessed."""
    if not remark["own_tokens"]:
        return None
    sizes = facts(
        ("text length in the draft model's tokens", remark["own_tokens"]),
        ("tokens that both have", remark["shared"]),
        ("tokens of the target", remark["vocabulary"]),
    )
    why = say("evidence", "intersection_why", shared=remark["shared"])
    return {"say": why, "blocks": [sizes]}


def unread(remark: Remark) -> list[Part]:
    """Return why there is no guess; empty if there was one."""
    if not remark["own_tokens"]:
        return say("evidence", "rewritten_unread")
    return say("evidence", "rewritten_no_fit") if remark.get("written") else []
