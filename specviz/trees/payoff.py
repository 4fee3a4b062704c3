"""What a tree brings: expected accepted length by three sources, and what the next guess is worth.

A guess that was fixed beforehand is kept with the target's own p (its siblings exclude each other),
so `cost.trees.reached` with p is the exact chance that a guess is kept; with measured acceptance by
rank it is a forecast, and with the drafter's own confidence it is what the drafter believes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp
from statistics import linear_regression
from typing import Final

from specviz.cost import tree_formula as law
from specviz.cost.figures.charts import axis, chart, curves, hover
from specviz.cost.sweep import Sweep
from specviz.figures.plot import Figure, Trace
from specviz.trees.grown_tree import GrownTree
from specviz.trees.recorded_position import RecordedPosition

Table = Sequence[Sequence[float]]  # by depth from 1, by rank from 0


@dataclass(frozen=True, slots=True)
class KeepChances:
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


def keep_chances(field: RecordedPosition, one: GrownTree, table: Table) -> KeepChances:
    """What every guess of a pool is worth, before any coin."""
    parents, keep = one.growth.parents, target_probabilities(field, one)
    ranks = acceptance_by_rank(parents, one.growth.depths, table)
    sums = one.growth.totals if one.growth.kind.how == "sum" else []
    believed = [exp(total) for total in sums] or list(one.growth.totals)
    return KeepChances(
        law.path_probabilities(parents, keep), law.path_probabilities(parents, ranks), believed
    )


def target_probabilities(field: RecordedPosition, one: GrownTree) -> list[float]:
    """By node, the target's p after its parent, at temperature 1; 1 for the root."""
    found = [1.0]
    for node, parent in enumerate(one.growth.parents):
        if node:
            row = field.rows[one.path(parent)]
            found.append(row.p[row.tokens.index(one.growth.tokens[node])])
    return found


def greedy_matches(field: RecordedPosition, one: GrownTree) -> list[float]:
    """By node, 1 where it is the target's likeliest token after its parent, else 0."""
    found = [1.0]
    for node, parent in enumerate(one.growth.parents):
        if node:
            found.append(float(field.rows[one.path(parent)].top == one.growth.tokens[node]))
    return found


def acceptance_by_rank(parents: Sequence[int], depths: Sequence[int], table: Table) -> list[float]:
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


def fitted_pass_cost(sweep: Sweep, tokens: int) -> float | None:
    """What a target pass over so many tokens takes, in plain passes: on the straight line through
    those that were measured; None beyond them, or where too few were.

    A line, since the time of one more token is what is asked, and two neighbours differ by noise.
    """
    times = sweep.by_tokens
    if len(times) < 2 or not min(times) <= tokens <= max(times):
        return None
    slope, start = linear_regression(list(times), list(times.values()))
    return (start + slope * tokens) / (start + slope)


def marginal_prices(brought: Sequence[float], costs: Sequence[float | None]) -> list[float | None]:
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


HEIGHT: Final = 230


def payoff_figure(
    gains: Sequence[float], forecast: Sequence[float], prices: Sequence[float | None]
) -> Figure:
    """Bars: tokens that each guess brings, in the order kept; diamonds: by acceptance by rank.

    Line: its price, the tokens that its share of the pass would bring elsewhere.
    """
    places = [float(place) for place in range(1, len(gains) + 1)]
    data: dict[str, Trace] = {
        "10-gains": {"type": "bar", "x": places, "y": list(gains), "marker": {"color": "--b"}}
        | _said(gains, "brings {:.3f} tokens")
    }
    if any(forecast):
        look = {"size": 5, "color": "--ink2", "symbol": "diamond"}
        marks = {"mode": "markers", "x": places, "y": list(forecast), "marker": look}
        data["20-forecast"] = marks | _said(forecast, "{:.3f} by rank")
    both = zip(places, prices, strict=True)
    curve = [(place, price) for place, price in both if price is not None]
    if curve:
        data["30-price"] = curves([curve], "--ink", 2)
    top = max(0.2, *gains, *forecast)
    step = 0.1 if top <= 0.5 else 0.25
    up = [(at * step, f"{at * step:g}") for at in range(ceil(top / step) + 1)]
    every = max(1, ceil(len(places) / 12))
    along = [(place, f"{place:.0f}") for place in places[::every]]
    x = axis(0.3, len(places) + 0.7, along, "guesses, in the order kept")
    return chart(data, x, axis(0.0, 1.05 * top, up), HEIGHT)


def _said(values: Sequence[float], form: str) -> Trace:
    return hover([f"guess {at}: {form.format(value)}" for at, value in enumerate(values, 1)])
