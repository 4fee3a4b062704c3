"""A whole tree in pixels: columns are positions in the text, as wide as their widest word.

A first child continues its parent's row, every other child opens a new one; the lines to a node's
children leave it in the gap before their column, where no other node's run, so none cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import networkx as nx

from specviz.figures.layout import branches
from specviz.trace.depths import depths_of

ROW: Final = 27
GAP: Final = 60  # between columns: a line, with a number of seven characters on it
MARGIN: Final = 4
MARK: Final = 18  # behind a pill, for what became of it
HEAD: Final = 24  # over the first row: the positions' names


@dataclass(frozen=True, slots=True)
class Spread:
    """x, y: by node, the left end and the middle height of its pill. columns: by depth."""

    x: list[float]
    y: list[float]
    columns: list[float]
    width: float
    height: float


def spread(parents: Sequence[int], widths: Sequence[float], gap: float = GAP) -> Spread:
    """Places for every node. parents: as in DraftTree. widths: by node, of its pill.

    gap: between columns.
    """
    depths = depths_of(list(parents))
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from((parent, node) for node, parent in enumerate(parents) if node)
    rows = branches(graph)
    widest = [0.0] * (max(depths) + 1)
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    columns = list(accumulate((width + gap for width in widest[:-1]), initial=float(MARGIN)))
    return Spread(
        [columns[depth] for depth in depths],
        [HEAD + ROW * (rows[node] + 0.5) for node in range(len(parents))],
        columns,
        columns[-1] + widest[-1] + MARGIN + MARK,
        HEAD + ROW * (max(rows.values()) + 1.0) + MARGIN,
    )
