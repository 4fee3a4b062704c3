"""A draft tree as the page draws it: each word cut to its pill, places, and facts to hover over.

The browser's half is `ui/shared/draft_tree.js`, which draws Step's trees, Trees' and Cost's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.figures.layout import (
    BARS_HEIGHT,
    COLUMNS,
    GAP,
    Cell,
    TreeLayout,
    WindowLayout,
    tree_layout,
    window_layout,
)
from specviz.figures.marks import GLYPHS, LEAST_WIDTH, MARK_WIDTH
from specviz.figures.plot import Point, cut, short, width
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Word, flat

FONT_SIZE: Final = 14
PADDING: Final = 16  # of a pill, at both sides together
MAX_WORD_WIDTH: Final = 56
FALLBACK_FACTOR: Final = 1.14  # DejaVu Sans, the fallback, is wider than Arial by this factor

WIDTH: Final = 640  # of Step's tree
COLUMN_WIDTH: Final = 92
STEP_ROW_HEIGHT: Final = 47
TOP: Final = 33
SLOT: Final = -1  # the node of the round's last token, and the row above all others
REMAINDERS: Final = (("left", "p"), ("left_q", "q"))
STATE_NAMES: Final = {"waiting": "not judged yet", "unreached": "not reached"}


def label(word: Word, max_width: float = MAX_WORD_WIDTH) -> dict[str, Any]:
    """Say how a word is drawn, cut to `max_width` pixels.

    Returns:
        `at`: by piece that is drawn, its distance from the word's start. `end`: the distance of the
        word's end. `pill`: the width of its pill without a mark. `cut`: the text of the last piece,
        if it had to be shortened.
    """
    at: list[float] = []
    shortened: dict[str, str] = {}
    x = 0.0
    for piece in word:
        if x >= max_width - 2:
            break
        at.append(short(x))
        if isinstance(piece, dict) and "g" in piece:
            x += GLYPHS[piece["g"]].advance
            continue
        whole = flat([piece])
        text = cut(whole, FONT_SIZE, max_width - x)
        x += width(text, FONT_SIZE)
        if text != whole:
            shortened = {"cut": text}
            break
    pill = min(word_width(word) * FALLBACK_FACTOR, max_width) + PADDING
    return {"at": at, "end": short(x), "pill": short(pill)} | shortened


def word_width(word: Word) -> float:
    """Return the width of a word as drawn, including its glyphs."""
    return sum(_piece_width(piece) for piece in word)


def _piece_width(piece: str | dict[str, str]) -> float:
    if isinstance(piece, dict) and "g" in piece:
        return GLYPHS[piece["g"]].advance
    return width(flat([piece]), FONT_SIZE)


def whole_tree(
    labels: Sequence[Mapping[str, Any]],
    parents: Sequence[int],
    gap: float = GAP,
    deepest: int | None = None,
    bars: float = 0,
) -> TreeLayout:
    """Lay out a whole tree by the labels of its nodes, each with room for a mark or with bars."""
    mark = 0 if bars else MARK_WIDTH
    widths = [max(LEAST_WIDTH, each["pill"] + mark) for each in labels]
    return tree_layout(parents, widths, gap, deepest, bars)


def step_tree(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a frame's `tree` what drawing it takes: labels, facts, and the window's layout."""
    where = window_layout(dict(enumerate(tree["shape"], 1)), _focus(tree))
    nodes = {
        number: {key: value for key, value in node.items() if key != "top"}
        | {"label": label(node["w"]), "facts": facts(node)}
        for number, node in tree["nodes"].items()
    }
    drawn = {key: value for key, value in tree.items() if key != "shape"} | {"nodes": nodes}
    drawn["label"] = label(tree["root"], COLUMN_WIDTH - 16)
    if "slot" in tree:
        slot = tree["slot"]
        drawn["slot"] = slot | {"label": label(slot.get("w", ["?"]))}
    more = {"deeper": where.deeper, "lower": where.lower}
    return drawn | {"layout": _step_layout(tree, where).to_json() | {"more": more}}


def _focus(tree: Mapping[str, Any]) -> int:
    """Return the depth that must be visible: of the slot, else the guess being judged or added."""
    if "slot" in tree:
        return int(tree["slot"]["depth"])
    if "here" in tree:
        return int(tree["nodes"][str(tree["here"])]["depth"])
    waiting = [node["depth"] for node in tree["nodes"].values()]
    scored = any("p" in node or "soft" in node for node in tree["nodes"].values())
    return 0 if scored else max(waiting, default=0)


def _step_layout(tree: Mapping[str, Any], where: WindowLayout) -> TreeLayout:
    """Return the window in pixels; its top row is reserved for the round's last token."""
    shown = [0, *map(int, tree["nodes"])]
    places = {node: _at(where.cells[node]) for node in shown if node in where.cells}
    slot = tree.get("slot")
    if slot is not None and slot["parent"] in where.cells:
        parent = where.cells[slot["parent"]]
        beside = not any(node["parent"] == slot["parent"] for node in tree["nodes"].values())
        places[SLOT] = _at(Cell(parent.column + 1, parent.row if beside else SLOT))
    names = {0: "last token"} if where.first == 0 else {}
    names |= {column: f"+{where.first + column}" for column in range(1, COLUMNS + 1)}
    heads = [(float(column * COLUMN_WIDTH), name) for column, name in names.items()]
    height = TOP + (max(where.rows, 2) + 1) * STEP_ROW_HEIGHT
    return TreeLayout(places, heads, WIDTH, height, BARS_HEIGHT)


def _at(cell: Cell) -> Point:
    """Return the left end and the vertical middle of a pill."""
    return float(cell.column * COLUMN_WIDTH), float(TOP + (cell.row + 1) * STEP_ROW_HEIGHT)


def facts(node: Mapping[str, Any]) -> list[str]:
    """Return what to say of a guess: its numbers, and the target's likeliest next tokens."""
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
