"""The draft tree: tokens and parents, nothing else. A chain is a tree with one child per node.

Node 0 is the last committed token; every other node is a guess and comes after its parent, and
the children of a node stand in the order in which they are tried. `Growth` makes a tree whose shape
follows the drafter's confidence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor


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
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

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

    def kept(self, nodes: Sequence[int]) -> DraftTree:
        """The tree of `nodes` alone (ascending, each with its ancestors), numbered anew.

        Raises ValueError where a node is kept without its parent.
        """
        new = {old: i for i, old in enumerate(nodes)}
        if any(node and self.parents[node] not in new for node in nodes):
            raise ValueError("A node can be kept only with its parent.")
        parents = tuple(new[self.parents[n]] if n else -1 for n in nodes)
        return DraftTree(tuple(self.tokens[n] for n in nodes), parents)


@dataclass(slots=True)
class Growth:
    """A pool of guesses of which the likeliest become the draft tree (EAGLE-2, 2406.16858).

    By node, in the order made: token, parent, depth, and total, the sum of the log-probabilities on
    its path as the drafter gave them. Totals are sums of float32 logs, not products, and not of
    half precision, where many of them tie.
    """

    tokens: list[int]  # [root] to begin with, as the others
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    totals: list[float] = field(default_factory=lambda: [0.0])

    def add(self, parent: int, tokens: Sequence[int], log_probs: Tensor) -> None:
        """Put guesses under `parent` in the order tried. log_probs: (n,), float32.

        Raises ValueError for logs in another precision, above 0 or NaN: no parent could be sure to
        rank before its children.
        """
        if log_probs.dtype is not torch.float32 or not bool((log_probs <= 0).all()):
            raise ValueError("Log-probabilities must be float32 and at most 0.")
        self.tokens += tokens
        self.parents += [parent] * len(tokens)
        self.depths += [self.depths[parent] + 1] * len(tokens)
        self.totals += (self.totals[parent] + log_probs).tolist()

    def best(self, budget: int) -> list[int]:
        """The root and the `budget` likeliest guesses, likeliest first.

        Ties: the shallower, then the older, so that a node never comes without its ancestors.
        """
        order = sorted(
            range(1, len(self.tokens)), key=lambda n: (-self.totals[n], self.depths[n], n)
        )
        return [0, *order[:budget]]

    def frontier(self, width: int, budget: int, ends: Collection[int]) -> list[int]:
        """The nodes to go on from: the `width` likeliest of the deepest level, likeliest first.

        Those that end a text are left out, and those outside the `budget` likeliest: what would
        stand under them could not be kept. Empty where growing is over.
        """
        deepest = max(self.depths)
        level = [n for n in self.best(budget) if self.depths[n] == deepest]
        return [n for n in level if self.tokens[n] not in ends][:width]

    def tree(self, budget: int) -> tuple[DraftTree, list[int]]:
        """The `budget` likeliest guesses as a tree, and which nodes of the pool they are."""
        kept = sorted(self.best(budget))  # in the order made: parents before children
        whole = DraftTree(tuple(self.tokens), tuple(self.parents))
        return whole.kept(kept), kept  # raises where an ancestor is missing
