"""A tree of guesses in small: each guess as dark as the chance that a round keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specviz.cost import trees
from specviz.cost.figures.law import hover
from specviz.figures.plot import Figure, Point, layout

WIDTH: Final = 400
HEIGHT: Final = 150
FAINTEST: Final = 0.14  # a guess that is hardly ever kept is still there


def small_tree(parents: Sequence[int], reached: Sequence[float]) -> Figure:
    """The tree from left to right, a level a column. reached: as `trees.reached` gives it."""
    levels = trees.depths(parents)
    rows = _rows(parents)
    deepest, lowest = max(1, *levels), max(rows)
    across = [level / deepest for level in levels]
    down = [row / lowest if lowest else 0.5 for row in rows]
    size = max(5.0, min(11.0, 120.0 / (lowest + 1), 300.0 / (deepest + 1)))
    marks = {
        "x": across,
        "y": down,
        "mode": "markers",
        "marker": {
            "size": size,
            "color": "--ink",
            "symbol": ["square", *["circle"] * (len(parents) - 1)],
            "opacity": [max(FAINTEST, chance) for chance in reached],
            "line": {"width": 1, "color": "--ink"},
        },
    } | hover(["the last token", *(f"kept in {100 * one:.1f}% of rounds" for one in reached[1:])])
    made = layout(WIDTH, HEIGHT)
    room = {"l": 10, "r": 10, "t": 10, "b": 10, "pad": 0}
    for name, reach in (("xaxis", [0, 1]), ("yaxis", [1, 0])):
        made[name] = made[name] | {"range": reach}
    edges = _edges(parents, list(zip(across, down, strict=True)))
    return {"data": {"00-edges": edges, "10-nodes": marks}, "layout": made | {"margin": room}}


def _edges(parents: Sequence[int], places: Sequence[Point]) -> dict[str, object]:
    x: list[float | None] = []
    y: list[float | None] = []
    for node, parent in enumerate(parents):
        if node:
            x += [places[parent][0], places[node][0], None]
            y += [places[parent][1], places[node][1], None]
    return {"x": x, "y": y, "line": {"width": 1, "color": "--dead"}}


def _rows(parents: Sequence[int]) -> list[float]:
    """By node, how far down it stands: leaves in the order tried, a first child by its parent."""
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if node:
            children[parent].append(node)
    rows = [0.0] * len(parents)
    waiting, leaves = [0], 0
    while waiting:
        node = waiting.pop()
        rows[node] = float(leaves)
        leaves += not children[node]
        waiting += reversed(children[node])
    return rows
