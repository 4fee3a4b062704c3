"""Guesses from a feature and the token after it: EAGLE's head, and MTP modules used again.

Rule: a row reads the feature of one token and, shifted by one, the token after it.
"""

from __future__ import annotations

from typing import Final

from specviz.frames.evidence.forms import (
    MOST_COLUMNS,
    Block,
    Cell,
    Remark,
    evidence,
    facts,
    grid,
    guessed,
    main_path,
    row,
)
from specviz.frames.scene import Scene, Step

KEYS: Final = (("given", "the target's own feature"), ("own", "the head's guess at one"))


def features(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The best path: what each step read, and how many guesses share its place."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    own = [evidence(scene.guesses[node - 1])["guessed_features"] for node in path]
    found = _rows(scene, path, own)
    beside = [len(scene.children[scene.guesses[node - 1].parent]) for node in path]
    if max(beside) > 1:
        cells: list[Cell] = [{"n": f"1st of {many}"} for many in beside]
        found.append(row("rank" if scene.point_mass else "drawn", cells))
    say = (
        "A step reads a feature and, one place on, the token after it. Later features are guesses."
    )
    passes = facts(("passes of the head", remark["passes"]))
    return {"say": [say], "blocks": [grid(_heads(path), found, KEYS), passes]}


def modules(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The chain: which module each step ran, and what it read."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    said = [evidence(scene.guesses[node - 1]) for node in path]
    ran: list[Cell] = [{"n": str(why["module"])} for why in said]
    found = [row("module", ran), *_rows(scene, path, [why["own"] for why in said])]
    many = remark["modules"]
    once = f"The {many} modules run one after another, each on the output before."
    again = "One module, used again and again: from the second step on it reads its own output."
    keys = (KEYS[0], ("own", "a module's own output"))
    return {"say": [again if many == 1 else once], "blocks": [grid(_heads(path), found, keys)]}


def _heads(path: list[int]) -> list[str]:
    return ["step", *(f"+{depth}" for depth in range(1, len(path) + 1))]


def _rows(scene: Scene, path: list[int], own: list[int]) -> list[Block]:
    """Feature, token and guess by step; the token of a step is the feature's of the next."""
    assert scene.round.proposed is not None
    guesses = [guessed(scene, node) for node in path]
    tokens = [scene.word(scene.round.proposed.root), *guesses]
    first = scene.spoken(len(scene.text) - 2)
    read_of = [first if first is not None else ["the text"], *tokens]
    read: list[Cell] = [
        {"w": word, "is": "own" if count else "given"}
        for word, count in zip(read_of, own, strict=False)
    ]
    return [
        row("feature of", read),
        row("token", [{"w": word} for word in tokens[: len(path)]]),
        row("guess", [{"w": word, "is": "guess"} for word in guesses]),
    ]
