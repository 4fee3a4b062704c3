"""Lookahead: the n-grams of the pool that are tried, and the window that makes new ones."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.frames.evidence.forms import (
    MOST_COLUMNS,
    Block,
    Part,
    Remark,
    evidence,
    facts,
    grid,
    row,
    rows,
    visible,
)
from specviz.frames.scene import Scene, Step
from specviz.texts import count

TRIED = 3


def lookahead(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """What is tried, from where it came, and the rows that ride along."""
    say: list[Part] = [_source(remark)]
    sizes = facts(
        ("n-grams in the pool", remark["pool"]),
        ("guesses in this pass", remark["rows_verified"]),
        ("window rows in it", remark["rows_window"]),
    )
    blocks = [_tried(scene, step, remark), _window(scene, remark), sizes]
    return {"say": say, "blocks": [block for block in blocks if block is not None]}


def _source(remark: Remark) -> str:
    """Where guesses come from, and what refills that."""
    if remark.get("filling"):
        return "The window still fills: with each pass one more row, until its columns are n-grams."
    if not remark["rows_window"]:
        return "Guesses come from a pool, which earlier passes filled. No window rides in this one."
    return "Guesses come from a pool. Rows of a window ride in this target pass and refill it."


def pooled(remark: Remark, guess: Remark, depth: int, words: Sequence[Part]) -> list[Part]:
    """The sentence of one guess: an n-gram has it."""
    return ["An n-gram of the pool goes on with ", *words, f", the guess at +{depth}."]


def no_ngram(remark: Remark) -> str | None:
    """Why nothing is tried."""
    if remark.get("filling"):
        return "The window is still filling, so there is no n-gram to try"
    return "No n-gram in the pool begins with the last token, so there is no guess"


def _tried(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The n-grams that begin with the text's last token, as far as their guesses are on screen."""
    depth = step.at if step.kind == "propose" else max(scene.depths)
    found: dict[int, str] = {}
    for node in visible(scene, step):
        said = evidence(scene.guesses[node - 1])
        found.setdefault(said["ngram"], f"round {said['round']}, column {said['column']}")
    shown = [
        {
            "at": "",
            "words": [scene.word(token) for token in remark["ngrams"][index][: depth + 1]],
            "text": [where],
        }
        for index, where in list(found.items())[:TRIED]
    ]
    return rows(["", "n-gram tried", "found in"], shown, len(found)) if shown else None


def _window(scene: Scene, remark: Remark) -> Block | None:
    """The window by level and column; the root rides anyway, as column 0 of level 0."""
    levels = remark["window"]
    if not levels:
        return None
    assert scene.round.proposed is not None
    wide = max(len(levels[0]) + 1, *map(len, levels)) if len(levels) > 1 else len(levels[0]) + 1
    columns = min(wide, MOST_COLUMNS)
    table = [[scene.round.proposed.root, *levels[0]], *levels[1:]]
    found = [
        row(f"row {level}", [{"w": scene.word(token)} for token in tokens[:columns]])
        for level, tokens in enumerate(table)
    ]
    found[0]["cells"][0]["is"] = "root"
    heads = ["window", *(str(column) for column in range(columns))]
    left = count(wide - columns, "more column") if wide > columns else ""
    # Until the window is full its columns are too short to be n-grams.
    read = (
        ""
        if remark.get("filling")
        else "Read down: a column, and what its pass adds, is an n-gram."
    )
    return grid(heads, found, note=" ".join(filter(None, [read, left])))
