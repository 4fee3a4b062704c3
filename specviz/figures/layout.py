"""Where the guesses stand: columns are positions in the text, rows are branches; no edges cross.

A first child continues its parent's row; every other child opens a new one. The window shows at
most COLUMNS positions and ROWS branches around the cursor; the rest is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import networkx as nx

COLUMNS: Final = 6  # beside the root's own
ROWS: Final = 7
PAGE: Final = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A node's place in the window: column 0 is the root's."""

    column: int
    row: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The window: places by node, the depth of its column 0, and how many guesses it leaves out."""

    places: Mapping[int, Place]
    first: int
    deeper: int
    lower: int

    @property
    def rows(self) -> int:
        """How many rows are in use."""
        return max((place.row for place in self.places.values()), default=0) + 1


def placed(parents: Mapping[int, int], focus: int) -> Placed:
    """Places for a tree given as node -> parent (0 is the root), such that depth `focus` shows."""
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from((parent, node) for node, parent in sorted(parents.items()))
    depth = nx.single_source_shortest_path_length(graph, 0)
    first = window_start(focus)
    rows = branches(graph)
    inside = {n: r for n, r in rows.items() if first <= depth[n] <= first + COLUMNS}
    used = sorted(set(inside.values()))[:ROWS]
    places = {
        node: Place(depth[node] - first, used.index(row))
        for node, row in inside.items()
        if row in used
    }
    deeper = sum(1 for node in graph if depth[node] > first + COLUMNS)
    return Placed(places, first, deeper, len(inside) - len(places))


def branches(graph: Any) -> dict[int, int]:
    """The row of every node, counting branches in the order they are tried."""
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
    """The depth of the window's first column; it turns in pages, so that it rarely moves."""
    pages = max(0, -(-(focus - COLUMNS) // PAGE))
    return pages * PAGE
