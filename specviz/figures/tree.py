"""A draft tree as Step draws it: words that fit their pills, places, and hover texts.

In the browser, `ui/shared/draft_tree.tsx` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NotRequired, TypedDict, cast

from specviz.figures.layout import (
    BARS_HEIGHT,
    COLUMNS,
    Cell,
    LayoutData,
    WindowLayout,
    window_layout,
)
from specviz.figures.marks import GLYPHS
from specviz.figures.plot import cut, short, width
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Word, flat
from specviz.frames.tree import GuessNode, Node, Slot, Tree, TreeState
from specviz.texts import Piece

FONT_SIZE: Final = 14
PADDING: Final = 16  # padding of a pill, both sides together
MAX_WORD_WIDTH: Final = 56
FALLBACK_FACTOR: Final = 1.14  # DejaVu Sans, the fallback font, is wider than Arial by this factor

WIDTH: Final = 640  # width of Step's tree
COLUMN_WIDTH: Final = 92
STEP_ROW_HEIGHT: Final = 46
TOP: Final = 33
UNKNOWN: Final[Word] = ["?"]
SLOT: Final = -1  # the node of the round's last token, and the row above all others
REMAINDERS: Final = (("left", "p"), ("left_q", "q"))
STATE_NAMES: Final = {"waiting": "not judged yet", "unreached": "not reached"}


class Label(TypedDict):
    """How a word is drawn in its pill, in pixels.

    Attributes:
        at: For each piece that is drawn, its distance from the word's start.
        end: Distance of the word's end.
        pill: Width of its pill without a mark.
        cut: The text of the last piece, if it had to be shortened.
    """

    at: list[float]
    end: float
    pill: float
    cut: NotRequired[str]


def label(word: Word, max_width: float = MAX_WORD_WIDTH) -> Label:
    """Return how a word is drawn, shortened to `max_width` pixels."""
    at: list[float] = []
    shortened: str | None = None
    x = 0.0
    for piece in word:
        if x >= max_width - 2:
            break
        at.append(short(x))
        if not isinstance(piece, str) and "g" in piece:
            x += GLYPHS[piece["g"]].advance
            continue
        whole = flat([piece])
        text = cut(whole, FONT_SIZE, max_width - x)
        x += width(text, FONT_SIZE)
        if text != whole:
            shortened = text
            break
    pill = min(word_width(word) * FALLBACK_FACTOR, max_width) + PADDING
    drawn: Label = {"at": at, "end": short(x), "pill": short(pill)}
    if shortened is not None:
        drawn["cut"] = shortened
    return drawn


def word_width(word: Word) -> float:
    """Return the width of a word as drawn, including its glyphs."""
    return sum(_piece_width(piece) for piece in word)


def _piece_width(piece: Piece) -> float:
    if not isinstance(piece, str) and "g" in piece:
        return GLYPHS[piece["g"]].advance
    return width(flat([piece]), FONT_SIZE)


class DrawnNode(GuessNode):
    """A guess as it is drawn."""

    label: Label
    facts: list[str]


class DrawnSlot(Slot):
    """The position of the round's last token as it is drawn."""

    label: Label


class DrawnTree(TreeState):
    """A tree as it is drawn. label: label of the root."""

    nodes: dict[str, DrawnNode]
    slot: NotRequired[DrawnSlot]
    label: Label
    layout: LayoutData


def step_tree(tree: Tree) -> DrawnTree:
    """Add to a frame's tree what is needed to draw it: labels, hover texts, and the layout."""
    parents = dict(enumerate(tree["shape"], 1))
    here = tree.get("here")
    parent = tree["slot"]["parent"] if "slot" in tree else parents.get(here or 0)
    where = window_layout(parents, _focus(tree), parent, here)
    drawn = cast("DrawnTree", {key: value for key, value in tree.items() if key != "shape"})
    drawn["nodes"] = {number: _drawn_node(node) for number, node in tree["nodes"].items()}
    drawn["label"] = label(tree["root"], COLUMN_WIDTH - 16)
    if "slot" in tree:
        slot = tree["slot"]
        drawn["slot"] = {**slot, "label": label(slot.get("w", UNKNOWN))}
    drawn["layout"] = _step_layout(tree, where)
    return drawn


def _drawn_node(node: Node) -> DrawnNode:
    known = cast("GuessNode", {key: value for key, value in node.items() if key != "top"})
    return {**known, "label": label(node["w"]), "facts": facts(node)}


def _focus(tree: Tree) -> int:
    if "slot" in tree:
        return tree["slot"]["depth"]
    if "here" in tree:
        return tree["nodes"][str(tree["here"])]["depth"]
    waiting = [node["depth"] for node in tree["nodes"].values()]
    scored = any("p" in node or "soft" in node for node in tree["nodes"].values())
    return 0 if scored else max(waiting, default=0)


def _step_layout(tree: Tree, where: WindowLayout) -> LayoutData:
    # The top row is reserved for the round's last token.
    shown = [0, *map(int, tree["nodes"])]
    cells = {node: where.cells[node] for node in shown if node in where.cells}
    slot = tree.get("slot")
    if slot is not None and slot["parent"] in where.cells:
        parent = where.cells[slot["parent"]]
        beside = not any(node["parent"] == slot["parent"] for node in tree["nodes"].values())
        cells[SLOT] = Cell(parent.column + 1, parent.row if beside else SLOT)
    names = {0: "last token"} if where.first == 0 else {}
    names |= {column: f"+{where.first + column}" for column in range(1, COLUMNS + 1)}
    return {
        "places": {
            str(node): (cell.column * COLUMN_WIDTH, TOP + (cell.row + 1) * STEP_ROW_HEIGHT)
            for node, cell in cells.items()
        },
        "heads": [(column * COLUMN_WIDTH, name) for column, name in names.items()],
        "width": WIDTH,
        "height": TOP + (max(where.rows, 2) + 1) * STEP_ROW_HEIGHT,
        "trunk": BARS_HEIGHT,
    }


def facts(node: Mapping[str, Any]) -> list[str]:
    """Return the hover text of a guess: its numbers, and the target's most probable next tokens."""
    state = STATE_NAMES.get(node["is"], node["is"])
    lines = [f"{flat(node['w'])} at +{node['depth']}, {state}"]
    known = [f"{name} {format_nonzero(node[name])}" for name in ("p", "q") if name in node]
    known += [f"{format_nonzero(node['soft'])} at temperature 1"] if "soft" in node else []
    lines += [" · ".join(known)] if known else []
    left = [f"{of}′ {format_nonzero(node[key])}" for key, of in REMAINDERS if key in node]
    lines += [f"judged by: {', '.join(left)}"] if left else []
    if "top" in node:
        best = ", ".join(f"{flat(w)} {format_nonzero(p)}" for w, p in node["top"])
        lines.append(f"the target's next token: {best}")
    return lines
