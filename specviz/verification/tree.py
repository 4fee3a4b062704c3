"""The draft tree: tokens and parents, nothing else. A chain is a tree with one child per node.

Node 0 is the last committed token; every other node is a guess and comes after its parent, and
the children of a node stand in the order in which they are tried. `Growth` makes a tree whose shape
follows the drafter's confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from specviz.trace.depths import node_depths


@dataclass(frozen=True)
class DraftTree:
    """tokens: by node, ids. parents: by node, the parent's index; -1 for node 0."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents) or not self.tokens or self.parents[0] != -1:
            raise ValueError("A tree needs a token and a parent by node, and node 0 has parent -1.")
        if not all(0 <= parent < node for node, parent in enumerate(self.parents) if node):
            raise ValueError("A node's parent must come before it.")

    @classmethod
    def chain(cls, root: int, guesses: Sequence[int]) -> DraftTree:
        """One guess after the other."""
        return cls((root, *guesses), tuple(range(-1, len(guesses))))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """By node, its children in the order tried."""
        lists: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents):
            if node:
                lists[parent].append(node)
        return tuple(map(tuple, lists))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """By node, its distance from the root."""
        return tuple(node_depths(self.parents))

    @property
    def is_chain(self) -> bool:
        """True where no node has two children."""
        return all(len(kids) <= 1 for kids in self.children)

    def path(self, node: int) -> tuple[int, ...]:
        """Nodes from the root to `node`, both included."""
        up = [node]
        while up[-1]:
            up.append(self.parents[up[-1]])
        return tuple(reversed(up))

    def mask(self) -> Tensor:
        """(n, n) bool: row i sees column j when j is i or above it."""
        seen = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if node:
                seen[node] |= seen[parent]
        return seen

    def subtree(self, nodes: Sequence[int]) -> DraftTree:
        """The tree of `nodes` alone (ascending, each with its ancestors), numbered anew.

        Raises ValueError where a node is kept without its parent.
        """
        return subtree(self.tokens, self.parents, nodes)


def subtree(tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> DraftTree:
    """The tree of some nodes of a larger one that is not made; see `DraftTree.kept`."""
    new = {old: i for i, old in enumerate(nodes)} | {-1: -1}
    try:
        above = tuple(new[parents[node]] for node in nodes)
    except KeyError:
        raise ValueError("A node can be kept only with its parent.") from None
    return DraftTree(tuple(tokens[node] for node in nodes), above)
