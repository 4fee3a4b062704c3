"""Lay out draft trees: columns are positions in the text, rows are branches, and no edges cross.

A first child continues its parent's row; every other child opens a new row. The Step tab shows a
window of at most COLUMNS positions and ROWS branches around the cursor (`window_layout`). Other
figures show whole trees, with columns as wide as their widest pill (`tree_layout`). A pill is the
box that shows a node's token. Places are in pixels: the left end of a pill, and the y of its
middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, TypedDict

import networkx as nx

from specviz.figures.plot import Point
from specviz.trace.depths import node_depths

COLUMNS: Final = 6  # number of columns in addition to the root's
ROWS: Final = 7
PAGE: Final = 5  # number of columns by which the window moves
ROW_HEIGHT: Final = 32  # distance between rows in a whole tree
BARS_HEIGHT: Final = 12  # space below a pill
GAP: Final = 60  # space between columns: a number of seven characters fits on an edge
MARGIN: Final = 10
HEAD_WIDTH: Final = 68  # minimum width of the root's column with the gap after it, for "last token"
HEADER_HEIGHT: Final = 24  # space above the first row, for the positions


@dataclass(frozen=True, slots=True)
class Cell:
    """The cell of a node in the window; column 0 is the root's."""

    column: int
    row: int


@dataclass(frozen=True, slots=True)
class WindowLayout:
    """The part of a tree that is shown.

    Attributes:
        cells: Cell of each node; nodes outside the window are missing.
        first: Depth of column 0.
    """

    cells: Mapping[int, Cell]
    first: int

    @property
    def rows(self) -> int:
        """Number of rows in use."""
        return max((cell.row for cell in self.cells.values()), default=0) + 1


class LayoutData(TypedDict):
    """The layout of a window as sent to the page; as in TreeLayout."""

    places: dict[str, tuple[float, float]]
    heads: list[tuple[float, str]]
    width: float
    height: float
    trunk: float


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The layout of a whole tree, in pixels.

    Attributes:
        places: Place of each node.
        heads: Where each column starts, and its position in the text.
        trunk: How far below a pill its edges to other rows begin.
    """

    places: Mapping[int, Point]
    heads: Sequence[tuple[float, str]]
    width: float
    height: float
    trunk: float = 0


def tree_graph(edges: Iterable[tuple[int, int]]) -> Any:
    """Return the graph of a tree, given its edges from parent to child, siblings in order."""
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from(edges)
    return graph


def window_layout(
    parents: Mapping[int, int], focus: int, parent: int | None = None, here: int | None = None
) -> WindowLayout:
    """Lay out the window in which depth `focus` is visible.

    Of more than ROWS branches, those are shown that lead to `parent` and begin at its children,
    then those that begin nearest to the root.

    Args:
        parents: Parent of each node but the root, which is node 0.
        focus: The depth that must be visible.
        parent: The node whose children are judged; None if none is judged.
        here: The child that must be visible.
    """
    graph = tree_graph((above, node) for node, above in sorted(parents.items()))
    depth = nx.single_source_shortest_path_length(graph, 0)
    first = window_start(focus)
    rows = branch_rows(graph)
    inside = {n: r for n, r in rows.items() if first <= depth[n] <= first + COLUMNS}
    if parent is None:
        leading, beside = {0}, {row for node, row in rows.items() if depth[node] == focus}
    else:
        branch = nx.ancestors(graph, parent) | {parent, parent if here is None else here}
        leading = {rows[node] for node in branch}
        beside = {rows[child] for child in graph[parent]}
    begins: dict[int, int] = {}
    for node, row in inside.items():
        begins[row] = min(depth[node], begins.get(row, depth[node]))
    ranked = sorted(
        begins, key=lambda row: (row not in leading, row not in beside, begins[row], row)
    )
    used = sorted(ranked[:ROWS])
    cells = {
        node: Cell(depth[node] - first, used.index(row))
        for node, row in inside.items()
        if row in used
    }
    return WindowLayout(cells, first)


def window_start(focus: int) -> int:
    """Return the depth of the window's first column, so that the window moves by whole pages."""
    pages = max(0, -(-(focus - COLUMNS) // PAGE))
    return pages * PAGE


def branch_rows(graph: Any) -> dict[int, int]:
    """Return the row of every node; branches are numbered in the order in which they are judged."""
    first = {next(iter(children)) for children in graph.adj.values() if children}
    rows: dict[int, int] = {}
    last = 0
    for parent, node in nx.dfs_edges(graph, 0):
        last += node not in first
        rows[node] = rows.get(parent, 0) if node in first else last
    return {0: 0} | rows


def tree_layout(
    parents: Sequence[int],
    widths: Sequence[float],
    gap: float = GAP,
    bars: float = 0,
) -> TreeLayout:
    """Lay out a whole tree.

    Args:
        parents: Parent of each node, as in `DraftTree`.
        widths: Width of each node's pill with its mark.
        gap: The space between columns.
        bars: The height of the bars below each pill.
    """
    depths = node_depths(list(parents))
    rows = branch_rows(tree_graph((parents[node], node) for node in range(1, len(parents))))
    widest = [0.0] * (max(depths) + 1)
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    widest[0] = max(widest[0], HEAD_WIDTH - gap)
    columns = list(accumulate((width + gap for width in widest[:-1]), initial=float(MARGIN)))
    middle, pitch = HEADER_HEIGHT + ROW_HEIGHT / 2, ROW_HEIGHT + bars
    return TreeLayout(
        {
            node: (columns[depths[node]], middle + pitch * rows[node])
            for node in range(len(parents))
        },
        [(x, f"+{at}" if at else "last token") for at, x in enumerate(columns)],
        columns[-1] + widest[-1] + MARGIN,
        HEADER_HEIGHT + pitch * (max(rows.values()) + 1.0) + MARGIN,
        bars,
    )
