"""The draft tree: tokens and parents. A chain is a tree with one child per node.

Node 0 is the last committed token. Every other node is a guess and comes after its parent; the
children of a node are in the order in which rules test them.
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
    """A draft tree.

    Attributes:
        tokens: The token id of each node.
        parents: The parent of each node; -1 for node 0.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents) or not self.tokens or self.parents[0] != -1:
            raise ValueError("Each node needs a token and a parent, and node 0 has the parent -1.")
        if not all(0 <= parent < node for node, parent in enumerate(self.parents) if node):
            raise ValueError("A node's parent must come before it.")

    @classmethod
    def chain(cls, root: int, guesses: Sequence[int]) -> DraftTree:
        """Return a chain of guesses after `root`."""
        return cls((root, *guesses), tuple(range(-1, len(guesses))))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node, in the order in which rules test them."""
        lists: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents):
            if node:
                lists[parent].append(node)
        return tuple(map(tuple, lists))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The distance of each node from the root."""
        return tuple(node_depths(self.parents))

    @property
    def is_chain(self) -> bool:
        """Whether no node has two children."""
        return all(len(kids) <= 1 for kids in self.children)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from the root to `node`, both included."""
        up = [node]
        while up[-1]:
            up.append(self.parents[up[-1]])
        return tuple(reversed(up))

    def mask(self) -> Tensor:
        """Return the attention mask (n, n), bool: row i is true at i and its ancestors."""
        mask = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if node:
                mask[node] |= mask[parent]
        return mask

    def subtree(self, nodes: Sequence[int]) -> DraftTree:
        """Return the tree of `nodes` alone, renumbered.

        Args:
            nodes: The nodes in ascending order, including the ancestors of each.

        Raises:
            ValueError: If the parent of a node is missing.
        """
        return subtree(self.tokens, self.parents, nodes)


def subtree(tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int]) -> DraftTree:
    """Return part of a larger tree without creating that tree; see `DraftTree.subtree`."""
    new = {old: i for i, old in enumerate(nodes)} | {-1: -1}
    try:
        new_parents = tuple(new[parents[node]] for node in nodes)
    except KeyError:
        raise ValueError("A subtree needs the parent of each of its nodes.") from None
    return DraftTree(tuple(tokens[node] for node in nodes), new_parents)
