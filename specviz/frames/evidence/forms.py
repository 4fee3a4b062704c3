"""Building blocks of evidence as plain data: a line of tokens, rows with bars, a grid, and facts.

A block is cut to the size that the inspector can show, and has the number of rows left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from specviz.frames.scene import Scene, Step, Word
from specviz.trace.events import Guess

Block = dict[str, Any]


Cell = dict[str, Any]


Remark = Mapping[str, Any]


MOST_ROWS: Final = 6
MOST_COLUMNS: Final = 6


def marked_line(label: str, *spans: Block) -> Block:
    """Return a line of tokens after a label; empty spans are dropped."""
    return {"as": "line", "label": label, "spans": [one for one in spans if one.get("words")]}


def span(kind: str, words: Sequence[Word]) -> Block:
    """Return neighbouring tokens of one kind: "near", "match", "copied", or "gap" (omitted)."""
    return {"is": kind, "words": list(words)}


GAP: Final[Block] = {"is": "gap", "words": [["…"]]}


def rows(heads: Sequence[str], found: Sequence[Block], of: int | None = None) -> Block:
    """Return guesses as rows.

    Args:
        heads: Column headers.
        found: Rows: `at` (a short name), `words`, `text` (numbers), `bar` (0 to 1), and `here` to
            highlight the row.
        of: Number of all rows, if not all are shown.
    """
    more = 0 if of is None else of - len(found)
    return {"as": "rows", "heads": list(heads), "rows": list(found)} | (
        {"more": more} if more else {}
    )


def grid(
    heads: Sequence[str],
    found: Sequence[Block],
    keys: Sequence[tuple[str, str]] = (),
    **options: Any,
) -> Block:
    """Return a table of cells: {"w": word}, {"n": text}, {"s": "on" | "off" | "none"} or {}.

    Args:
        heads: Column headers.
        found: Rows as returned by `row`.
        keys: States and their meanings, for the legend.
        options: Further keys of the block.
    """
    return {"as": "grid", "heads": list(heads), "rows": list(found)} | (
        {"keys": [list(key) for key in keys], **options}
    )


def row(label: str | Word, cells: Iterable[Cell], **options: Any) -> Block:
    """Return a row of a grid; its label is text or a token."""
    named: Block = {"label": label} if isinstance(label, str) else {"w": label}
    return named | {"cells": list(cells)} | options


def facts(*pairs: tuple[str, object]) -> Block:
    """Return numbers by name, which the page sets on one line if they fit."""
    return {"as": "facts", "facts": [[name, format_count(value)] for name, value in pairs]}


def format_count(value: object) -> str:
    """Format a number with thousands separators."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def evidence(guess: Guess) -> Remark:
    """Return the drafter's evidence for a guess; empty if it gave none."""
    return guess.evidence or {}


def shown_nodes(scene: Scene, step: Step) -> list[int]:
    """Return the guesses that are on screen at a step."""
    depth = step.at if step.kind == "propose" else max(scene.depths)
    return [node for node in range(1, len(scene.depths)) if scene.depths[node] <= depth]


def window(scene: Scene, step: Step, most: int = MOST_ROWS) -> list[int]:
    """Return the guesses that fit on screen: the newest while drafting, afterwards the first."""
    nodes = shown_nodes(scene, step)
    return nodes[-most:] if step.kind == "propose" else nodes[:most]


def main_path(scene: Scene, step: Step) -> list[int]:
    """Return the path of first children from the root, as far as it is on screen."""
    seen = set(shown_nodes(scene, step))
    path: list[int] = []
    kids = scene.children[0]
    while kids and kids[0] in seen:
        path.append(kids[0])
        kids = scene.children[kids[0]]
    return path


def path_to(scene: Scene, node: int) -> list[int]:
    """Return the path from depth 1 to a guess."""
    path: list[int] = []
    while node:
        path.append(node)
        node = scene.guesses[node - 1].parent
    return path[::-1]


def guess_word(scene: Scene, node: int) -> Word:
    """Return the token of a guess as pieces."""
    return scene.word(scene.guesses[node - 1].token)


def depth_label(scene: Scene, node: int) -> str:
    """Return the position of a guess relative to the text, such as "+1"."""
    return f"+{scene.depths[node]}"


def position_name(index: int) -> str:
    """Return the name of a position in the text, counted from 1."""
    return f"token {index + 1:,}"


def text_words(scene: Scene, start: int, end: int) -> list[Word]:
    """Return the text's tokens from `start` to `end`; none if the text is unknown."""
    return [scene.word(token) for token in scene.text[max(start, 0) : max(end, 0)]]
