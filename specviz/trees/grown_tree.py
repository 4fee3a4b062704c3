"""Grow a draft tree at a recorded position, and compute its expected accepted length.

A tree grows by expanding nodes, collecting all their guesses in a pool, and selecting the best. The
expected length is computed by `tree_formula.path_probabilities` from three sources. With the
target's p it is exact, since a guess that was not sampled is accepted with probability p. With
acceptance measured by rank it is a forecast, and with the drafter's own probabilities it is what
the drafter expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp
from statistics import linear_regression
from typing import Final

from specviz.cost import tree_formula
from specviz.cost.sweep import Sweep
from specviz.drafters.common.dynamic_tree import SUMS, DynamicTree, PathScore
from specviz.trees import shapes
from specviz.trees.recorded_position import Path, RecordedPosition
from specviz.trees.shapes import Parameters
from specviz.verification.tree import DraftTree

MISFIT: Final = 0.1  # a word that the target gives less than this share of q does not fit


@dataclass
class GrownTree:
    """A pool of guesses and the tree selected from it.

    Attributes:
        levels: Expanded nodes of each level, the most probable first.
        missing: Nodes that could not be expanded, because no predictions after them were recorded.
    """

    growth: DynamicTree
    budget: int
    levels: list[list[int]] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)

    def path(self, node: int) -> Path:
        """Return the tokens from the first guess to `node`."""
        return tuple(self.growth.tokens[at] for at in shapes.path(self.growth.parents, node)[1:])

    @cached_property
    def order(self) -> list[int]:
        """All guesses of the pool, the most probable first."""
        return self.growth.best(len(self.growth.tokens))[1:]

    @cached_property
    def kept(self) -> list[int]:
        """Selected nodes in ascending order, including the root."""
        return sorted([0, *self.order[: self.budget]])

    @cached_property
    def tree(self) -> DraftTree:
        """The selected tree, which the target verifies."""
        return DraftTree(tuple(self.growth.tokens), tuple(self.growth.parents)).subtree(self.kept)

    @property
    def paths(self) -> frozenset[Path]:
        """The paths of the tree, to compare it with trees that number their nodes differently."""
        return frozenset(self.path(node) for node in self.kept if node)


def grow_tree(
    position: RecordedPosition, parameters: Parameters, kind: PathScore = SUMS
) -> GrownTree:
    """Grow a dynamic tree. kind: how paths are scored; as in runs, in float32, by default."""
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
    """Add the recorded guesses under a node to the pool; if there are none, add it to `missing`."""
    row = position.rows.get(grown.path(node))
    if row is None:
        grown.missing.append(node)
        return
    grown.growth.add([node], [row.tokens[:width]], [row.logs[:width]])


def static_tree(position: RecordedPosition, paths: Sequence[Path]) -> GrownTree:
    """Build a tree of rank paths, level by level; those not recorded are missing."""
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


Table = Sequence[Sequence[float]]  # acceptance by depth from 1, then by rank from 0


@dataclass(frozen=True, slots=True)
class AcceptanceEstimates:
    """Estimates of each node's acceptance: by the target's p, the drafter's, and ranks."""

    exact: list[float]
    ranks: list[float]
    believed: list[float]

    def length(self, nodes: Sequence[int]) -> dict[str, float]:
        """Return the expected accepted length of a tree of these nodes, by each estimate."""
        sources = {"exact": self.exact, "ranks": self.ranks, "believed": self.believed}
        return {
            name: sum(values[node] for node in nodes if node) for name, values in sources.items()
        }


def estimate_acceptance(
    position: RecordedPosition, grown: GrownTree, table: Table
) -> AcceptanceEstimates:
    """Return the three estimates for each guess of a pool."""
    parents, keep = grown.growth.parents, target_probabilities(position, grown)
    ranks = acceptance_by_rank(parents, grown.growth.depths, table)
    sums = grown.growth.totals if grown.growth.kind.how == "sum" else []
    believed = [exp(total) for total in sums] or list(grown.growth.totals)
    return AcceptanceEstimates(
        tree_formula.path_probabilities(parents, keep),
        tree_formula.path_probabilities(parents, ranks),
        believed,
    )


def target_probabilities(position: RecordedPosition, grown: GrownTree) -> list[float]:
    """Return, for each node, the target's p of its token at temperature 1; 1 for the root."""
    found = [1.0]
    for node, parent in enumerate(grown.growth.parents):
        if node:
            row = position.rows[grown.path(parent)]
            found.append(row.p[row.tokens.index(grown.growth.tokens[node])])
    return found


def greedy_matches(position: RecordedPosition, grown: GrownTree) -> list[float]:
    """Return, for each node, 1 if it is the target's most probable token, otherwise 0."""
    found = [1.0]
    for node, parent in enumerate(grown.growth.parents):
        if node:
            found.append(float(position.rows[grown.path(parent)].top == grown.growth.tokens[node]))
    return found


def contradictions(position: RecordedPosition, grown: GrownTree) -> dict[int, int]:
    """Return the guesses that contradict their own branch, each with the same word where it fits.

    A drafter that does not know the guess before gives a word the same probability q after several
    branches of one depth. The word contradicts its branch if the target gives it less than
    `MISFIT` times q there, but at least q after another of these branches. Of those, the one with
    the highest p is returned.
    """
    p, growth = target_probabilities(position, grown), grown.growth
    same: dict[tuple[int, int, float], list[int]] = {}
    for node, parent in enumerate(growth.parents):
        if node:
            row, token = position.rows[grown.path(parent)], growth.tokens[node]
            log = row.logs[row.tokens.index(token)]
            same.setdefault((growth.depths[node], token, log), []).append(node)
    found = dict[int, int]()
    for (_, _, log), nodes in same.items():
        best, q = max(nodes, key=lambda node: p[node]), exp(log)
        if p[best] >= q:
            found |= {node: best for node in nodes if p[node] < MISFIT * q}
    return found


def acceptance_by_rank(parents: Sequence[int], depths: Sequence[int], table: Table) -> list[float]:
    """Return each node's measured acceptance at its depth (or the deepest) and rank, or 0."""
    found = [1.0]
    for depth, rank in zip(depths[1:], tree_formula.sibling_ranks(parents)[1:], strict=True):
        level = table[min(depth, len(table)) - 1] if table else []
        found.append(level[rank] if rank < len(level) else 0.0)
    return found


def fitted_pass_cost(sweep: Sweep, tokens: int) -> float | None:
    """Return the time of a pass over `tokens` tokens in plain passes, from a linear fit.

    The fit is needed because noise is larger than the difference between neighbouring sizes. The
    result is None outside the measured sizes, or if fewer than two sizes were measured.
    """
    times = sweep.by_tokens
    if len(times) < 2 or not min(times) <= tokens <= max(times):
        return None
    slope, start = linear_regression(list(times), list(times.values()))
    return (start + slope * tokens) / (start + slope)


def marginal_prices(brought: Sequence[float], costs: Sequence[float | None]) -> list[float | None]:
    """Return the cost of each guess, in tokens.

    The cost is how many tokens the rounds without it would add in the time that verifying it takes.
    A guess increases the speed if its gain is larger than its cost.

    Args:
        brought: Tokens per round for each number of guesses, from 0.
        costs: Time of the pass for each number of guesses, in plain passes; None if unknown.
    """
    found = list[float | None]()
    for number in range(1, len(costs)):
        before, after = costs[number - 1], costs[number]
        if before is None or after is None:
            found.append(None)
        else:
            found.append(brought[number - 1] / before * (after - before))
    return found
