"""The draft tree as a plotly figure: pills, edges and bars in a few batched traces.

The outline of a pill shows its verdict, and its hue shows which model's probability it came from.
Sorting traces by name gives the drawing order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specviz.figures.drawing import EDGES, PILL_HEIGHT, Drawing, pill_width
from specviz.figures.layout import COLUMNS, Cell, WindowLayout, window_layout
from specviz.figures.plot import Figure, Point, escaped, layout, rectangle, rounded, texts
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Word, flat

WIDTH: Final = 640
COLUMN_WIDTH: Final = 92
ROW_HEIGHT: Final = 47
TOP: Final = 33
BAR_WIDTH: Final = 52
SLOT: Final = -1
REMAINDERS: Final = (("left", "p"), ("left_q", "q"))
GAP: Final = 3  # pills are at most 88 wide, columns 92
STATE_NAMES: Final = {"waiting": "not judged yet", "unreached": "not reached"}


def tree_figure(tree: Mapping[str, Any]) -> Figure:
    """Draw the `tree` of a frame."""
    parents = dict(enumerate(tree["shape"], 1))
    where = window_layout(parents, _focus(tree))
    cells = dict(where.cells)
    rise = 1  # the top row is reserved for the round's last token
    drawing = Drawing()
    if where.first == 0 or 0 in cells:
        _root(drawing, tree["root"], rise)
    for number, node in tree["nodes"].items():
        if int(number) in cells:
            _node(drawing, int(number), node, cells, rise)
    _slot(drawing, tree, cells, rise)
    if "here" in tree and tree["here"] in cells:
        _ring(drawing, tree, cells[tree["here"]], rise)
    height = TOP + (max(where.rows, 2) + rise) * ROW_HEIGHT
    data = drawing.traces() | {"00-heads": texts(_heads(where), 12, "middle right")}
    more = {"deeper": where.deeper, "lower": where.lower}
    return {"data": data, "layout": layout(WIDTH, height), "more": more}


def _focus(tree: Mapping[str, Any]) -> int:
    """Return the depth that must be visible: of the slot, else the guess being judged or added."""
    if "slot" in tree:
        return int(tree["slot"]["depth"])
    if "here" in tree:
        return int(tree["nodes"][str(tree["here"])]["depth"])
    waiting = [node["depth"] for node in tree["nodes"].values()]
    scored = any("p" in node or "soft" in node for node in tree["nodes"].values())
    return 0 if scored else max(waiting, default=0)


def _at(cell: Cell, rise: int) -> Point:
    """Return the left end and the vertical middle of a pill."""
    return cell.column * COLUMN_WIDTH, TOP + (cell.row + rise) * ROW_HEIGHT


def _root(drawing: Drawing, word: Word, rise: int) -> None:
    x, y = _at(Cell(0, 0), rise)
    drawing.root_end = drawing.word(word, x, y, "--ink", COLUMN_WIDTH - 16) + 5


def _node(
    drawing: Drawing, number: int, node: Mapping[str, Any], cells: Mapping[int, Cell], rise: int
) -> None:
    x, y = _at(cells[number], rise)
    wide = drawing.pill(node["w"], node["is"], x, y)
    if node["is"] == "accepted":
        drawing.add("30-underline", rectangle(x, y + PILL_HEIGHT / 2 - 3, wide, 3))
    _bars(drawing, node, x, y + PILL_HEIGHT / 2 + 4)
    _edge(drawing, node, cells, (x, y), rise)
    drawing.hover.append((x + wide / 2, y, hover_text(node), number))


def _bars(drawing: Drawing, node: Mapping[str, Any], x: float, y: float) -> None:
    """Draw p and q under a token: dim if it was not reached, hatched if a remainder was used."""
    dim = "-dim" if node["is"] == "unreached" else ""
    if "left" in node:
        _hatched(drawing, "40-p", node["left"] * BAR_WIDTH, x, y)
    elif "p" in node:
        drawing.add(f"40-p{dim}", rectangle(x, y, max(node["p"] * BAR_WIDTH, 0.5), 3.5))
    if "soft" in node:
        drawing.add(f"40-soft{dim}", rectangle(x, y, max(node["soft"] * BAR_WIDTH, 0.5), 3.5))
    if "left_q" in node:
        _hatched(drawing, "41-q", node["left_q"] * BAR_WIDTH, x, y + 4.5)
    elif "q" in node:
        drawing.add(f"41-q{dim}", rectangle(x, y + 4.5, max(node["q"] * BAR_WIDTH, 0.5), 3.5))


def _hatched(drawing: Drawing, name: str, wide: float, x: float, y: float) -> None:
    """Draw a bar of 3.5 pixels as slanting stripes on a paler bar."""
    wide = max(wide, 0.5)
    drawing.add(f"{name}-left", rectangle(x, y, wide, 3.5))
    start = x
    while start < x + wide:
        end = [min(start + step, x + wide) for step in (0, 2.5, 4.5, 2)]
        top, bottom = y, y + 3.5
        corners = [(end[3], top), (end[2], top), (end[1], bottom), (end[0], bottom), (end[3], top)]
        drawing.add(f"{name}-stripe", corners)
        start += 5


def _edge(
    drawing: Drawing,
    node: Mapping[str, Any],
    cells: Mapping[int, Cell],
    at: Point,
    rise: int,
) -> None:
    """Draw the edge from the parent's pill, as wide as q. The parent's pill covers its start."""
    parent = cells.get(node["parent"])
    if parent is None:
        return
    x, y = at
    from_x, from_y = _at(parent, rise)
    name = node["is"] if node["is"] in EDGES else "idle"
    band = max(1.5, 9 * node.get("q", 0.25))
    if from_y == y:
        start = from_x + (drawing.root_end if node["parent"] == 0 else 20)
        drawing.add(f"10-edge-{name}", rectangle(start, y - band / 2, x - start, band))
        return
    turn = from_x + 14
    drawing.add(f"10-edge-{name}", _elbow(turn, from_y + PILL_HEIGHT / 2 + 12, x, y, band / 2))


def _elbow(x: float, from_y: float, to_x: float, y: float, half: float) -> list[Point]:
    """Return a band that goes down (or up) from (x, from_y), then right to (to_x, y)."""
    side = half if y > from_y else -half
    return [
        (x - half, from_y),
        (x - half, y + side),
        (to_x, y + side),
        (to_x, y - side),
        (x + half, y - side),
        (x + half, from_y),
        (x - half, from_y),
    ]


def _slot(drawing: Drawing, tree: Mapping[str, Any], cells: Mapping[int, Cell], rise: int) -> None:
    """Draw the slot of the round's last token: a question mark until the token is sampled."""
    slot = tree.get("slot")
    parent = cells.get(slot["parent"]) if slot else None
    if slot is None or parent is None:
        return
    state = slot.get("is", "slot")
    beside = not any(node["parent"] == slot["parent"] for node in tree["nodes"].values())
    cell = Cell(parent.column + 1, parent.row if beside else SLOT)
    x, y = _at(cell, rise)
    _, from_y = _at(parent, rise)
    wide = drawing.pill(slot.get("w", ["?"]), state, x, y)
    left = parent.column * COLUMN_WIDTH
    turn = [(left + 14, from_y - PILL_HEIGHT / 2 - 2), (left + 14, y), (x, y)]
    if parent.row > 0:  # other branches are above: go up between two columns
        turn = [(x - GAP, from_y - 2), (x - GAP, y), (x, y)]
    start = drawing.root_end if slot["parent"] == 0 else 20
    path = [(left + start, y), (x, y)] if beside else turn
    drawing.add(f"11-slot-{state}", path)
    if "w" in slot:
        drawing.hover.append((x + wide / 2, y, escaped(flat(slot["w"])), SLOT))


def _ring(drawing: Drawing, tree: Mapping[str, Any], cell: Cell, rise: int) -> None:
    """Draw a ring around the guess that is being judged."""
    node = tree["nodes"][str(tree["here"])]
    x, y = _at(cell, rise)
    wide = pill_width(node["w"], node["is"])
    drawing.add("25-here", rounded(x - 3, y - PILL_HEIGHT / 2 - 3, wide + 6, PILL_HEIGHT + 6, 7))


def hover_text(node: Mapping[str, Any]) -> str:
    """Return the hover text of a guess: its numbers, and the target's likeliest next tokens."""
    state = STATE_NAMES.get(node["is"], node["is"])
    lines = [f"<b>{escaped(flat(node['w']))}</b> at +{node['depth']}, {state}"]
    known = [f"{name} {format_nonzero(node[name])}" for name in ("p", "q") if name in node]
    known += [f"{format_nonzero(node['soft'])} at temperature 1"] if "soft" in node else []
    lines += [" · ".join(known)] if known else []
    left = [f"{of}′ {format_nonzero(node[key])}" for key, of in REMAINDERS if key in node]
    lines += [f"judged by: {', '.join(left)}"] if left else []
    if "top" in node:
        best = ", ".join(f"{escaped(flat(w))} {format_nonzero(p)}" for w, p in node["top"])
        lines.append(f"the target's next token: {best}")
    return "<br>".join(lines)


def _heads(where: WindowLayout) -> list[tuple[float, float, str, str]]:
    """Return the column headers: positions relative to the last token."""
    names = {0: "last token"} if where.first == 0 else {}
    names |= {column: f"+{where.first + column}" for column in range(1, COLUMNS + 1)}
    return [(column * COLUMN_WIDTH, 9.0, name, "--ink3") for column, name in names.items()]
