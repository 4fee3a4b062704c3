"""One tree in the formats of SGLang and EAGLE, and its attention mask and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specviz.trace.depths import node_depths

NONE: Final = -1  # no such node


@dataclass(frozen=True, slots=True)
class LinkedTree:
    """A left-child, right-sibling list, as SGLang's build_tree_kernel writes it.

    Attributes:
        next_token: By node, its first child; -1 if there is none.
        next_sibling: By node, the sibling tried after it; -1 if there is none.
    """

    next_token: list[int]
    next_sibling: list[int]

    @property
    def parents(self) -> list[int]:
        """The tree as parents."""
        found = [NONE] * len(self.next_token)
        for parent, first in enumerate(self.next_token):
            child = first
            while child != NONE:
                found[child] = parent
                child = self.next_sibling[child]
        return found


def linked_list(parents: Sequence[int]) -> LinkedTree:
    """Return the linked list of a tree."""
    first, after = [NONE] * len(parents), [NONE] * len(parents)
    newest: dict[int, int] = {}  # by parent, the child before
    for node, parent in enumerate(parents):
        if not node:
            continue
        if parent in newest:
            after[newest[parent]] = node
        else:
            first[parent] = node
        newest[parent] = node
    return LinkedTree(first, after)


def retrieve_indices(parents: Sequence[int]) -> list[list[int]]:
    """Return one row from the root to each leaf, padded with -1 (EAGLE, Medusa)."""
    inner = set(parents)
    leaves = [node for node in range(len(parents)) if node not in inner]
    rows = [path(parents, leaf) for leaf in leaves]
    longest = max(map(len, rows))
    return [[*row, *[NONE] * (longest - len(row))] for row in rows]


def path(parents: Sequence[int], node: int) -> list[int]:
    """Return the nodes from the root to `node`, both included."""
    up = [node]
    while up[-1]:
        up.append(parents[up[-1]])
    return up[::-1]


def mask(parents: Sequence[int]) -> list[list[int]]:
    """Return, by row, the nodes that it attends to: itself and its ancestors."""
    return [path(parents, node) for node in range(len(parents))]


def positions(parents: Sequence[int], length: int = 0) -> list[int]:
    """Return, by node, its position: `length` + its depth."""
    return [length + depth for depth in node_depths(list(parents))]
