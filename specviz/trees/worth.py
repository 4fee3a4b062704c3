"""What a tree brings: expected accepted length by three sources, and what the next guess is worth.

A guess that was fixed beforehand is kept with the target's own p (its siblings exclude each other),
so `cost.trees.reached` with p is the exact chance that a guess is kept; with measured acceptance by
rank it is a forecast, and with the drafter's own confidence it is what the drafter believes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import linear_regression

from specviz.cost import trees as law
from specviz.cost.sweep import Sweep
from specviz.trees.field import Field
from specviz.trees.growing import Grown

Table = Sequence[Sequence[float]]  # by depth from 1, by rank from 0


@dataclass(frozen=True, slots=True)
class Worth:
    """By node of the pool, the chance that a round keeps it.

    exact: by the target's p. ranks: by acceptance measured by depth and rank. believed: by the
    drafter.
    """

    exact: list[float]
    ranks: list[float]
    believed: list[float]

    def length(self, nodes: Sequence[int]) -> dict[str, float]:
        """The expected accepted length of a tree of these nodes, by source."""
        sources = {"exact": self.exact, "ranks": self.ranks, "believed": self.believed}
        return {
            name: sum(values[node] for node in nodes if node) for name, values in sources.items()
        }


def worth(field: Field, one: Grown, table: Table) -> Worth:
    """What every guess of a pool is worth, before any coin."""
    parents, keep = one.growth.parents, chances(field, one)
    ranks = by_rank(parents, one.growth.depths, table)
    sums = one.growth.totals if one.growth.kind.how == "sum" else []
    believed = [exp(total) for total in sums] or list(one.growth.totals)
    return Worth(law.reached(parents, keep), law.reached(parents, ranks), believed)


def chances(field: Field, one: Grown) -> list[float]:
    """By node, the target's p after its parent, at temperature 1; 1 for the root."""
    found = [1.0]
    for node, parent in enumerate(one.growth.parents):
        if node:
            row = field.rows[one.path(parent)]
            found.append(row.p[row.tokens.index(one.growth.tokens[node])])
    return found


def greedy(field: Field, one: Grown) -> list[float]:
    """By node, 1 where it is the target's likeliest token after its parent, else 0."""
    found = [1.0]
    for node, parent in enumerate(one.growth.parents):
        if node:
            found.append(float(field.rows[one.path(parent)].top == one.growth.tokens[node]))
    return found


def by_rank(parents: Sequence[int], depths: Sequence[int], table: Table) -> list[float]:
    """By node, the acceptance measured at its depth and rank; the deepest level that was measured
    stands for those below it, and ranks that were not measured count as 0."""
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


def passes(sweep: Sweep, tokens: int) -> float | None:
    """What a target pass over so many tokens takes, in plain passes: on the straight line through
    those that were measured; None beyond them, or where too few were.

    A line, since the time of one more token is what is asked, and two neighbours differ by noise.
    """
    times = sweep.by_tokens
    if len(times) < 2 or not min(times) <= tokens <= max(times):
        return None
    slope, start = linear_regression(list(times), list(times.values()))
    return (start + slope * tokens) / (start + slope)


def prices(brought: Sequence[float], costs: Sequence[float | None]) -> list[float | None]:
    """By guess from the first, the tokens that its share of the pass would bring elsewhere.

    brought: tokens a round brings with so many guesses, from none on. costs: the pass with so many,
    in plain passes; None where it is not known. A guess pays where it brings more than its price.
    """
    found = list[float | None]()
    for number in range(1, len(costs)):
        before, after = costs[number - 1], costs[number]
        if before is None or after is None:
            found.append(None)
        else:
            found.append(brought[number - 1] / before * (after - before))
    return found
