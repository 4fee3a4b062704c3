"""Building blocks to show evidence: a line of tokens, rows with bars, a table, and facts.

All are plain data. A block is cut to the size that the inspector can show, and has the number of
rows that were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict, Unpack

from specviz.frames.scene import Scene, Step, TokenState, Word
from specviz.texts import Part
from specviz.trace.events import Guess

Remark = Mapping[str, Any]
Fact = tuple[str, str]  # a name, and its value as text

SpanKind = Literal["near", "match", "copied", "gap"]  # gap: for tokens that are left out
# "as" and "is" are keywords of Python, which classes cannot have as field names, so some records
# are created by calls.
Span = TypedDict("Span", {"is": SpanKind, "words": list[Word]})  # neighbouring tokens of one kind
LineBlock = TypedDict("LineBlock", {"as": Literal["line"], "label": str, "spans": list[Span]})


class PathRow(TypedDict):
    """A row that shows a guess.

    Attributes:
        at: A short name.
        bar: A length from 0 to 1.
        here: Whether the row is highlighted.
    """

    at: str
    words: list[Word]
    text: list[str]
    bar: NotRequired[float]
    here: NotRequired[bool]


# more: number of rows that are not shown.
RowsBlock = TypedDict(
    "RowsBlock",
    {"as": Literal["rows"], "heads": list[str], "rows": list[PathRow], "more": NotRequired[int]},
)
# A word, a text "n", a state "s" (possibly with the word that it comes from), or nothing.
Cell = TypedDict(
    "Cell",
    {
        "w": NotRequired[Word],
        "n": NotRequired[str],
        "s": NotRequired[Literal["on", "off", "none"]],
        "is": NotRequired[Literal["given", "own", "guess", "root"]],
    },
)


class RowOptions(TypedDict):
    """Options of a row in a table."""

    tail: NotRequired[str]
    mark: NotRequired[TokenState]
    group: NotRequired[str]


class GridRow(RowOptions):
    """A row of a table; its label is a text or a token."""

    label: NotRequired[str]
    w: NotRequired[Word]
    cells: list[Cell]


class GridOptions(TypedDict):
    """Options of a table. more: number of columns or rows that are not shown."""

    split: NotRequired[int]
    states: NotRequired[bool]
    stacked: NotRequired[bool]
    more: NotRequired[int]
    note: NotRequired[str]


Grid = TypedDict(
    "Grid", {"as": Literal["grid"], "heads": list[str], "rows": list[GridRow], "keys": list[Fact]}
)


class GridBlock(Grid, GridOptions):
    """A table of cells."""


# w: a word after the first fact.
FactsBlock = TypedDict(
    "FactsBlock", {"as": Literal["facts"], "facts": list[Fact], "w": NotRequired[Word]}
)
Block = LineBlock | RowsBlock | GridBlock | FactsBlock


class Marks(TypedDict):
    """Marks of the text strip.

    Attributes:
        prompt: Start, end (in UTF-16 units) and kind of each mark in the prompt.
        past: Index and kind of each marked new token.
    """

    prompt: NotRequired[list[tuple[int, int, str]]]
    past: NotRequired[list[tuple[int, str]]]


class Why(TypedDict):
    """The section "Why these guesses"."""

    say: list[Part]
    blocks: Sequence[Block]
    marks: NotRequired[Marks]


MOST_ROWS: Final = 6
MOST_COLUMNS: Final = 6


def marked_line(label: str, *spans: Span) -> LineBlock:
    """Return a line of tokens with a label; empty spans are left out."""
    return {"as": "line", "label": label, "spans": [one for one in spans if one["words"]]}


def span(kind: SpanKind, words: list[Word]) -> Span:
    """Return neighbouring tokens of one kind."""
    return {"is": kind, "words": words}


GAP: Final[Span] = {"is": "gap", "words": [["…"]]}


def rows(heads: list[str], found: list[PathRow], of: int | None = None) -> RowsBlock:
    """Return a block with one row per guess. of: total number of rows, if not all are shown."""
    made: RowsBlock = {"as": "rows", "heads": heads, "rows": found}
    if of is not None and of > len(found):
        made["more"] = of - len(found)
    return made


def grid(
    heads: list[str],
    found: list[GridRow],
    keys: Sequence[Fact] = (),
    **options: Unpack[GridOptions],
) -> GridBlock:
    """Return a table with the given column headers."""
    return {"as": "grid", "heads": heads, "rows": found, "keys": list(keys), **options}


def row(label: str | Word, cells: Iterable[Cell], **options: Unpack[RowOptions]) -> GridRow:
    """Return a row of a grid."""
    made = list(cells)
    if isinstance(label, str):
        named: GridRow = {"label": label, "cells": made}
    else:
        named = {"w": label, "cells": made}
    return {**named, **options}


def facts(*pairs: tuple[str, object]) -> FactsBlock:
    """Return a block of named numbers, shown on one line if they fit."""
    return {"as": "facts", "facts": [(name, format_count(value)) for name, value in pairs]}


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
    """Return the guesses that fit on screen: the newest while drafting, the first afterwards."""
    nodes = shown_nodes(scene, step)
    return nodes[-most:] if step.kind == "propose" else nodes[:most]


def main_path(scene: Scene, step: Step) -> list[int]:
    """Return the path of first children from the root, as far as it is shown at this step."""
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
    """Return the token of a guess, split into pieces."""
    return scene.word(scene.guesses[node - 1].token)


def depth_label(scene: Scene, node: int) -> str:
    """Return a guess's position after the text, such as "+1"."""
    return f"+{scene.depths[node]}"


def position_name(index: int) -> str:
    """Return the name of a position in the text, counted from 1."""
    return f"token {index + 1:,}"


def text_words(scene: Scene, start: int, end: int) -> list[Word]:
    """Return the text's tokens from `start` to `end`; empty if the text is unknown."""
    return [scene.word(token) for token in scene.text[max(start, 0) : max(end, 0)]]
