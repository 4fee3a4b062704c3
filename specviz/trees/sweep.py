"""The ranking question on real trees: eight ways of ranking at hundreds of places of real texts.

Rule: all ways meet the same places and the same numbers of the drafter, and what a tree is worth is
computed from the target's own p, not thrown; so a difference between two ways is the ranking's
alone, and is paired. Prompts are the unit of the bootstrap, since places of one text are alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any, Final

import torch

from specviz.cost import trees as law
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS
from specviz.trees.explore import Walk
from specviz.trees.field import Field
from specviz.trees.parameters import Parameters
from specviz.trees.ranking import DTYPES, WAYS, Ranked, ranked
from specviz.trees.study import EXACT
from specviz.trees.worth import chances, greedy

FILE: Final = ASSETS / "trees" / "ranking.json"
SIZES: Final = {
    "SGLang 6, 10, 60": Parameters(6, 10, 59),
    "SGLang 5, 4, 8": Parameters(5, 4, 7),
}
EVERY, MANY = 3, 8  # places of a prompt
BOOTS: Final = 4000
Counts = dict[str, float]


@dataclass
class Tally:
    """One way of ranking at one size of tree. prompts: by prompt, sums over its places."""

    prompts: list[Counts]

    def mean(self, key: str) -> float:
        """A place's mean."""
        return sum(one[key] for one in self.prompts) / sum(one["places"] for one in self.prompts)

    def interval(self, key: str, draws: int = BOOTS, seed: int = 1) -> tuple[float, float]:
        """95 % of the means that prompts drawn anew give."""
        dice, many = Random(seed), len(self.prompts)
        found = sorted(
            Tally([self.prompts[dice.randrange(many)] for _ in range(many)]).mean(key)
            for _ in range(draws)
        )
        return found[int(0.025 * draws)], found[int(0.975 * draws) - 1]


KEYS: Final = (
    "differ",
    "nodes",
    "tied",
    "zeros",
    "orphans",
    "length",
    "gain",
    "square",
    "greedy",
    "gain0",
)


def square(field: Field, one: Ranked) -> float:
    """The mean square of the accepted length at temperature 1: what its noise follows from."""
    growth = one.grown.growth
    warm = law.reached(growth.parents, chances(field, one.grown))
    return sum((2 * growth.depths[node] - 1) * warm[node] for node in one.grown.kept[1:])


Tallies = dict[str, dict[str, Tally]]  # by size, by way


def empty() -> Tallies:
    """Tallies of nothing yet."""
    return {size: {way: Tally([]) for way in WAYS} for size in SIZES}


def sweep(
    target: Target,
    drafter: Drafter,
    texts: Sequence[Sequence[int]],
    settings: Settings,
    found: Tallies,
) -> Iterator[int]:
    """Fill tallies prompt by prompt; yields how many are done."""
    wants = [(size, kind) for size in SIZES.values() for kind in WAYS.values()]
    for done, ids in enumerate(texts, 1):
        sums: dict[tuple[str, str], Counts] = defaultdict(lambda: defaultdict(float))
        for field in Walk(target, drafter, ids, settings).fields(wants, EVERY, MANY):
            for name, size in SIZES.items():
                for way, counts in counted(field, size).items():
                    for key, value in counts.items():
                        sums[name, way][key] += value
        for (name, way), counts in sums.items():
            found[name][way].prompts.append(dict(counts))
        yield done


def counted(field: Field, size: Parameters) -> dict[str, Counts]:
    """By way, what one place adds to its tally."""
    made = ranked(field, size)
    exact = next(one for one in made if one.way == EXACT)
    base = lengths(field, exact)
    return {one.way: _counts(field, one, base) for one in made}


def _counts(field: Field, one: Ranked, base: tuple[float, float]) -> Counts:
    mine = lengths(field, one)
    return {
        "places": 1.0,
        "differ": float(bool(one.gained)),
        "nodes": float(len(one.gained)),
        "tied": float(bool(one.tied)),
        "zeros": float(one.zeros),
        "orphans": float(bool(one.orphans)),
        "length": mine[0],
        "gain": mine[0] - base[0],
        "square": square(field, one),
        "greedy": mine[1],
        "gain0": mine[1] - base[1],
    }


def lengths(field: Field, one: Ranked) -> tuple[float, float]:
    """The tree's expected accepted length at temperature 1, and its length at temperature 0."""
    parents, kept = one.grown.growth.parents, one.grown.kept[1:]
    warm = law.reached(parents, chances(field, one.grown))
    cold = law.reached(parents, greedy(field, one.grown))
    return sum(warm[node] for node in kept), sum(cold[node] for node in kept)


def summed(tallies: Tallies) -> dict[str, Any]:
    """For the file: means by size and way, and intervals of what is compared."""
    return {
        size: {way: _summed(tally) for way, tally in ways.items()} for size, ways in tallies.items()
    }


def _summed(tally: Tally) -> dict[str, Any]:
    means = {key: round(tally.mean(key), 5) for key in KEYS}
    compared = {key: [round(x, 5) for x in tally.interval(key)] for key in ("gain", "gain0")}
    return means | {f"{key}_interval": ends for key, ends in compared.items()}


def arithmetic(rounds: int = 2000, width: int = 10) -> list[dict[str, Any]]:
    """Multiplying beside adding: microseconds of one step of a tree's loop, in turns, by dtype.

    As SGLang's select_top_k_tokens does it: (1, k) totals by (1, k, k) of the new guesses.
    """
    found = []
    for name, dtype in DTYPES.items():
        totals, rows = torch.rand(1, width).to(dtype), torch.rand(1, width, width).to(dtype)
        times: dict[str, list[float]] = {"product": [], "sum": []}
        for _ in range(rounds):
            for how, step in (("product", torch.mul), ("sum", torch.add)):
                start = perf_counter()
                step(totals.unsqueeze(2), rows)
                times[how].append(perf_counter() - start)
        middle = {how: sorted(some)[rounds // 2] * 1e6 for how, some in times.items()}
        found.append({"dtype": name, "width": width} | {h: round(v, 3) for h, v in middle.items()})
    return found
