"""Lay out draft trees: columns are positions in the text, rows are branches, and no edges cross.

A first child continues its parent's row; every other child opens a new row. The Step tab shows a
window of at most COLUMNS positions and ROWS branches around the cursor, and counts the nodes
outside it (`window_layout`). The Trees tab shows a whole tree, with columns as wide as their widest
word (`tree_layout`). The edges to a node's children lie in the gap before the children's column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import networkx as nx

from specviz.trace.depths import node_depths

COLUMNS: Final = 6  # in addition to the root's column
ROWS: Final = 7
PAGE: Final = 5  # columns by which the window moves
ROW_HEIGHT: Final = 27  # pixels from one row to the next, in `tree_layout`
GAP: Final = 60  # pixels between columns: room for a number of seven characters on an edge
MARGIN: Final = 4
MARK_WIDTH: Final = 18  # reserved behind a pill for its mark
HEADER_HEIGHT: Final = 24  # reserved above the first row for the positions


@dataclass(frozen=True, slots=True)
class Cell:
    """A node's cell in the window; column 0 is the root's."""

    column: int
    row: int


@dataclass(frozen=True, slots=True)
class WindowLayout:
    """The part of a tree that is shown.

    Attributes:
        cells: By node, its cell; nodes outside the window are missing.
        first: Depth of column 0.
        deeper: Nodes to the right of the window.
        lower: Nodes below the window.
    """

    cells: Mapping[int, Cell]
    first: int
    deeper: int
    lower: int

    @property
    def rows(self) -> int:
        """Number of rows in use."""
        return max((cell.row for cell in self.cells.values()), default=0) + 1


def window_layout(parents: Mapping[int, int], focus: int) -> WindowLayout:
    """Lay out the window in which depth `focus` is visible.

    Args:
        parents: Parent by node, without the root, which is node 0.
        focus: The depth that must be visible.
    """
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from((parent, node) for node, parent in sorted(parents.items()))
    depth = nx.single_source_shortest_path_length(graph, 0)
    first = window_start(focus)
    rows = branch_rows(graph)
    inside = {n: r for n, r in rows.items() if first <= depth[n] <= first + COLUMNS}
    used = sorted(set(inside.values()))[:ROWS]
    cells = {
        node: Cell(depth[node] - first, used.index(row))
        for node, row in inside.items()
        if row in used
    }
    deeper = sum(1 for node in graph if depth[node] > first + COLUMNS)
    return WindowLayout(cells, first, deeper, len(inside) - len(cells))


def branch_rows(graph: Any) -> dict[int, int]:
    """Return the row of every node; branches are numbered in the order in which they are judged."""
    rows: dict[int, int] = {}
    last = 0
    for node in nx.dfs_preorder_nodes(graph, 0):
        parent = next(iter(graph.predecessors(node)), None)
        if parent is None or next(iter(graph.successors(parent))) == node:
            rows[node] = 0 if parent is None else rows[parent]
        else:
            last += 1
            rows[node] = last
    return rows


def window_start(focus: int) -> int:
    """Return the depth of the window's first column, which moves by whole pages."""
    pages = max(0, -(-(focus - COLUMNS) // PAGE))
    return pages * PAGE


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """A whole tree in pixels.

    Attributes:
        x: By node, the left end of its pill.
        y: By node, the middle of its pill.
        columns: By depth, the left end of the column.
        width: Of the whole tree.
        height: Of the whole tree.
    """

    x: list[float]
    y: list[float]
    columns: list[float]
    width: float
    height: float


def tree_layout(parents: Sequence[int], widths: Sequence[float], gap: float = GAP) -> TreeLayout:
    """Lay out a whole tree.

    Args:
        parents: By node, its parent, as in `DraftTree`.
        widths: By node, the width of its pill.
        gap: The space between columns.
    """
    depths, rows = node_depths(list(parents)), rows_of(parents)
    widest = [0.0] * (max(depths) + 1)
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    columns = list(accumulate((width + gap for width in widest[:-1]), initial=float(MARGIN)))
    return TreeLayout(
        [columns[depth] for depth in depths],
        [HEADER_HEIGHT + ROW_HEIGHT * (rows[node] + 0.5) for node in range(len(parents))],
        columns,
        columns[-1] + widest[-1] + MARGIN + MARK_WIDTH,
        HEADER_HEIGHT + ROW_HEIGHT * (max(rows) + 1.0) + MARGIN,
    )


def rows_of(parents: Sequence[int]) -> list[int]:
    """Return the row of every node, like `branch_rows` but without networkx, which is slower."""
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if node:
            children[parent].append(node)
    rows, last, waiting = [0] * len(parents), 0, [0]
    while waiting:
        node = waiting.pop()
        if node and children[parents[node]][0] == node:
            rows[node] = rows[parents[node]]
        elif node:
            last += 1
            rows[node] = last
        waiting += reversed(children[node])
    return rows
