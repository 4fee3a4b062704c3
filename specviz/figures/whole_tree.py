"""A whole tree in pixels: columns are positions in the text, as wide as their widest word.

A first child continues its parent's row, every other child opens a new one; the lines to a node's
children leave it in the gap before their column, where no other node's run, so none cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from specviz.trace.depths import node_depths

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
    depths, rows = node_depths(list(parents)), rows_of(parents)
    widest = [0.0] * (max(depths) + 1)
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    columns = list(accumulate((width + gap for width in widest[:-1]), initial=float(MARGIN)))
    return Spread(
        [columns[depth] for depth in depths],
        [HEAD + ROW * (rows[node] + 0.5) for node in range(len(parents))],
        columns,
        columns[-1] + widest[-1] + MARGIN + MARK,
        HEAD + ROW * (max(rows) + 1.0) + MARGIN,
    )


def rows_of(parents: Sequence[int]) -> list[int]:
    """By node, its row, as `layout.branches` has it, quick enough for every level of a pool."""
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
