"""Grow a tree on a recorded position, step by step: expanded nodes, pool, and rerank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from specviz.drafters.common.dynamic_tree import SUMS, DynamicTree, PathScore
from specviz.trees.recorded_position import Path, RecordedPosition
from specviz.trees.shapes import Parameters
from specviz.verification.tree import DraftTree


@dataclass
class GrownTree:
    """A pool of guesses and the tree selected from it.

    Attributes:
        growth: The pool.
        budget: Guesses that are kept.
        levels: Expanded nodes, level by level, likeliest first.
        missing: Nodes that could not be expanded, since the position has no row for them.
    """

    growth: DynamicTree
    budget: int
    levels: list[list[int]] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)

    def path(self, node: int) -> Path:
        """Return the tokens from the first guess to `node`."""
        found = []
        while node:
            found.append(self.growth.tokens[node])
            node = self.growth.parents[node]
        return tuple(reversed(found))

    @cached_property
    def order(self) -> list[int]:
        """All guesses of the pool, likeliest first."""
        return self.growth.best(len(self.growth.tokens))[1:]

    @cached_property
    def kept(self) -> list[int]:
        """Nodes of the pool that are in the tree, ascending, the root first."""
        return sorted([0, *self.order[: self.budget]])

    @cached_property
    def tree(self) -> DraftTree:
        """The tree that goes to the target."""
        return DraftTree(tuple(self.growth.tokens), tuple(self.growth.parents)).subtree(self.kept)

    @property
    def paths(self) -> frozenset[Path]:
        """The tree as a set of paths, independent of node numbers."""
        return frozenset(self.path(node) for node in self.kept if node)


def grow_tree(
    position: RecordedPosition, parameters: Parameters, kind: PathScore = SUMS
) -> GrownTree:
    """Grow a dynamic tree. kind: how totals are computed; runs sum in float32."""
    grown = GrownTree(DynamicTree([position.root], kind=kind), parameters.budget)
    depth = min(parameters.depth, position.deepest)
    levels = grown.growth.levels(depth, parameters.width, parameters.budget, position.eos)
    for level in levels:
        before = len(grown.growth.tokens)
        for node in level:
            add_guesses(grown, position, node, parameters.width)
        if len(grown.growth.tokens) == before:
            break
        grown.levels.append(level)
    return grown


def add_guesses(grown: GrownTree, position: RecordedPosition, node: int, width: int) -> None:
    """Add the recorded guesses after a node to the pool, or note that there are none."""
    row = position.rows.get(grown.path(node))
    if row is None:
        grown.missing.append(node)
        return
    logs = torch.tensor(row.logs[:width], dtype=torch.float32)
    grown.growth.add(node, row.tokens[:width], logs)


def static_tree(position: RecordedPosition, paths: Sequence[Path]) -> GrownTree:
    """Build a tree of fixed shape.

    Every guess is kept, except those after a path without a row.

    Args:
        position: The position.
        paths: Rank paths in order of level, as in `settings.published_trees`.
    """
    grown = GrownTree(DynamicTree([position.root]), len(paths))
    nodes: dict[Path, int] = {(): 0}
    widths: dict[Path, int] = {}
    for path in paths:
        widths[path[:-1]] = max(widths.get(path[:-1], 0), path[-1] + 1)
    for ranks, width in widths.items():
        node = nodes.get(ranks)
        if node is None or (node and grown.growth.tokens[node] in position.eos):
            continue
        first = len(grown.growth.tokens)
        add_guesses(grown, position, node, width)
        grown.levels.append([node])
        nodes |= {
            (*ranks, rank): at for rank, at in enumerate(range(first, len(grown.growth.tokens)))
        }
    return grown
