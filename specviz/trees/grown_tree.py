"""Grow a draft tree on a recorded position: expand nodes, collect a pool, and select the best."""

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
        budget: The number of guesses to select.
        levels: Expanded nodes by level, the likeliest first.
        missing: Nodes that could not be expanded, because the position has no row for them.
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
        """Selected nodes in ascending order, starting with the root."""
        return sorted([0, *self.order[: self.budget]])

    @cached_property
    def tree(self) -> DraftTree:
        """The selected tree, which the target verifies."""
        return DraftTree(tuple(self.growth.tokens), tuple(self.growth.parents)).subtree(self.kept)

    @property
    def paths(self) -> frozenset[Path]:
        """The tree as a set of paths, independent of node numbers."""
        return frozenset(self.path(node) for node in self.kept if node)


def grow_tree(
    position: RecordedPosition, parameters: Parameters, kind: PathScore = SUMS
) -> GrownTree:
    """Grow a dynamic tree.

    Args:
        position: The position.
        parameters: Size of the tree.
        kind: How the totals of paths are computed; runs sum log-probabilities in float32.
    """
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
    """Add the recorded guesses after a node to the pool; if there are none, add it to `missing`."""
    row = position.rows.get(grown.path(node))
    if row is None:
        grown.missing.append(node)
        return
    logs = torch.tensor(row.logs[:width], dtype=torch.float32)
    grown.growth.add(node, row.tokens[:width], logs)


def static_tree(position: RecordedPosition, paths: Sequence[Path]) -> GrownTree:
    """Build a tree of fixed shape, without the guesses after paths that were not recorded.

    Args:
        position: The position.
        paths: Rank paths, level by level, as in `settings.published_trees`.
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
