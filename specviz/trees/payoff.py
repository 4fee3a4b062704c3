"""The gain of a tree: its expected accepted length, and the gain and cost of each guess.

The expected length is computed in three ways. A guess that was not sampled is accepted with the
target's p, so `tree_formula.path_probabilities` with p is exact. With acceptance measured by rank
it is a forecast, and with the drafter's own probabilities it is what the drafter expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import linear_regression

from specviz.cost import tree_formula
from specviz.cost.sweep import Sweep
from specviz.trees.grown_tree import GrownTree
from specviz.trees.recorded_position import RecordedPosition

Table = Sequence[Sequence[float]]  # by depth from 1, by rank from 0


@dataclass(frozen=True, slots=True)
class AcceptanceEstimates:
    """The probability that a round accepts a node, by node of the pool, estimated in three ways.

    Attributes:
        exact: From the target's p.
        ranks: From measured acceptance by depth and rank.
        believed: From the drafter's own probabilities.
    """

    exact: list[float]
    ranks: list[float]
    believed: list[float]

    def length(self, nodes: Sequence[int]) -> dict[str, float]:
        """Return the expected accepted length of a tree of these nodes, by source."""
        sources = {"exact": self.exact, "ranks": self.ranks, "believed": self.believed}
        return {
            name: sum(values[node] for node in nodes if node) for name, values in sources.items()
        }


def estimate_acceptance(
    position: RecordedPosition, grown: GrownTree, table: Table
) -> AcceptanceEstimates:
    """Return the probability that each guess of a pool is accepted."""
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
    """Return, by node, the target's p of its token at temperature 1; 1 for the root."""
    found = [1.0]
    for node, parent in enumerate(grown.growth.parents):
        if node:
            row = position.rows[grown.path(parent)]
            found.append(row.p[row.tokens.index(grown.growth.tokens[node])])
    return found


def greedy_matches(position: RecordedPosition, grown: GrownTree) -> list[float]:
    """Return, by node, 1 if it is the target's likeliest token, else 0."""
    found = [1.0]
    for node, parent in enumerate(grown.growth.parents):
        if node:
            found.append(float(position.rows[grown.path(parent)].top == grown.growth.tokens[node]))
    return found


def acceptance_by_rank(parents: Sequence[int], depths: Sequence[int], table: Table) -> list[float]:
    """Return, by node, the acceptance measured at its depth and rank.

    Deeper levels than measured use the deepest measured one; ranks that were not measured get 0.
    """
    seen: dict[int, int] = {}
    found = [1.0]
    for node, parent in enumerate(parents):
        if not node:
            continue
        rank = seen.get(parent, 0)
        seen[parent] = rank + 1
        level = table[min(depths[node], len(table)) - 1] if table else []
        found.append(level[rank] if rank < len(level) else 0.0)
    return found


def fitted_pass_cost(sweep: Sweep, tokens: int) -> float | None:
    """Return the time of a pass over `tokens` tokens in plain passes, from a linear fit.

    The fit smooths the noise that would dominate the difference between neighbouring sizes. None
    outside the measured sizes, or if fewer than two sizes were measured.
    """
    times = sweep.by_tokens
    if len(times) < 2 or not min(times) <= tokens <= max(times):
        return None
    slope, start = linear_regression(list(times), list(times.values()))
    return (start + slope * tokens) / (start + slope)


def marginal_prices(brought: Sequence[float], costs: Sequence[float | None]) -> list[float | None]:
    """Return the cost of each guess in tokens: what its share of the pass would yield otherwise.

    A guess pays if its gain exceeds its cost.

    Args:
        brought: Tokens per round, by number of guesses from 0.
        costs: By number of guesses, the time of the pass in plain passes; None if unknown.
    """
    found = list[float | None]()
    for number in range(1, len(costs)):
        before, after = costs[number - 1], costs[number]
        if before is None or after is None:
            found.append(None)
        else:
            found.append(brought[number - 1] / before * (after - before))
    return found
