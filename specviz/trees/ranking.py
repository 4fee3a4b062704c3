"""Rank the guesses of trees in eight ways: products or sums of logs, in four precisions.

In exact arithmetic all eight give the same tree, because the logarithm is monotonic; only rounding
makes them differ (SGLang #12637). Each way grows its own tree: it decides which nodes are expanded,
and which guesses are kept.

In the study, all ways rank the same guesses at the same positions, and accepted lengths are
computed from the target's p instead of being sampled, so that all differences are caused by the
ranking. The bootstrap resamples prompts, because positions of one text are similar.

`measure_rank_acceptance` measures acceptance by depth and rank, from which shapes can be chosen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from random import Random
from time import perf_counter
from typing import Any, Final

import torch

from specviz.cost import tree_formula
from specviz.drafters.common.dynamic_tree import PathScore, rank_tokens
from specviz.engine.loop import plain
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, read_shipped_json
from specviz.trees.grown_tree import GrownTree, greedy_matches, grow_tree, target_probabilities
from specviz.trees.recorded_position import Path, RecordedPosition
from specviz.trees.recording import TEMPERATURE_ONE, Walk
from specviz.trees.rounding import EXACT, SIZES
from specviz.trees.shapes import Parameters
from specviz.verification.distributions import logits_to_probs
from specviz.verification.tree import DraftTree

DTYPES: Final[Mapping[str, torch.dtype]] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
WAYS: Final[Mapping[str, PathScore]] = {
    f"{how} {name}": PathScore(how, dtype)
    for how in ("product", "sum")
    for name, dtype in DTYPES.items()
}


@dataclass(frozen=True)
class RankedTree:
    """A tree ranked in one way, compared with the exact ranking.

    Attributes:
        gained: Paths that only this tree keeps.
        lost: Paths that only the exact tree keeps.
        tied: Number of dropped guesses with the same score as the last one kept.
        zeros: Number of guesses in the pool whose product is 0.
        orphans: Nodes that EAGLE's own selection, `torch.topk`, keeps without their parent.
    """

    way: str
    grown: GrownTree
    gained: frozenset[Path]
    lost: frozenset[Path]
    tied: int
    zeros: int
    orphans: list[int]


def rank_all_ways(position: RecordedPosition, parameters: Parameters) -> list[RankedTree]:
    """Return all eight trees, in the order of WAYS."""
    trees = {way: grow_tree(position, parameters, kind) for way, kind in WAYS.items()}
    exact = trees[EXACT].paths
    return [_ranked(way, one, exact) for way, one in trees.items()]


def _ranked(way: str, grown: GrownTree, exact: frozenset[Path]) -> RankedTree:
    mine, totals = grown.paths, grown.growth.totals
    dropped = grown.order[grown.budget :]
    last = totals[grown.order[grown.budget - 1]] if dropped else math.inf
    return RankedTree(
        way,
        grown,
        mine - exact,
        exact - mine,
        tied=sum(totals[node] == last for node in dropped),
        zeros=0 if grown.growth.kind.how == "sum" else totals.count(0.0),
        orphans=orphans(grown),
    )


def orphans(grown: GrownTree) -> list[int]:
    """Return the nodes that `torch.topk` selects without their parent.

    `torch.topk` guarantees no order among equal values. In EAGLE's code such a node becomes its own
    parent, or starts a path that does not begin at the root.
    """
    totals = torch.tensor(grown.growth.totals[1:], dtype=grown.growth.kind.dtype)
    found = totals.topk(min(grown.budget, len(totals))).indices + 1
    selected = {0, *found.tolist()}
    return sorted(node for node in selected if node and grown.growth.parents[node] not in selected)


POSITION_STRIDE, POSITIONS = 3, 8  # in tokens between positions; positions per prompt
BOOTSTRAPS: Final = 4000
Counts = dict[str, float]


@dataclass
class Tally:
    """Results of one way at one tree size: for each prompt, sums over its positions."""

    prompts: list[Counts]

    def mean(self, key: str) -> float:
        """Return the mean per position."""
        return sum(one[key] for one in self.prompts) / sum(one["places"] for one in self.prompts)

    def interval(self, key: str, draws: int = BOOTSTRAPS) -> tuple[float, float]:
        """Return the 95% bootstrap interval of the mean, resampling prompts."""
        dice, count = Random(1), len(self.prompts)
        found = sorted(
            Tally([self.prompts[dice.randrange(count)] for _ in range(count)]).mean(key)
            for _ in range(draws)
        )
        return found[int(0.025 * draws)], found[int(0.975 * draws) - 1]


Tallies = dict[str, dict[str, Tally]]  # by tree size, then by way


def empty_tallies() -> Tallies:
    """Return results that contain nothing yet."""
    return {size: {way: Tally([]) for way in WAYS} for size in SIZES}


def run_study(
    target: Target,
    drafter: Drafter,
    texts: Sequence[Sequence[int]],
    settings: Settings,
    found: Tallies,
) -> Iterator[int]:
    """Run the study; after each prompt, add to `found` and yield the number of prompts done."""
    requests = [(size, kind) for size in SIZES.values() for kind in WAYS.values()]
    for done, ids in enumerate(texts, 1):
        sums: dict[tuple[str, str], Counts] = defaultdict(lambda: defaultdict(float))
        for position in Walk(target, drafter, ids, settings).record_every(
            requests, POSITION_STRIDE, POSITIONS
        ):
            for name, size in SIZES.items():
                for way, counts in count_position(position, size).items():
                    for key, value in counts.items():
                        sums[name, way][key] += value
        for (name, way), counts in sums.items():
            found[name][way].prompts.append(dict(counts))
        yield done


def count_position(position: RecordedPosition, size: Parameters) -> dict[str, Counts]:
    """Return the counts at one position, for each way."""
    trees = {ranked.way: ranked for ranked in rank_all_ways(position, size)}
    lengths = {way: expected_lengths(position, ranked) for way, ranked in trees.items()}
    base = lengths[EXACT]
    return {
        way: {
            "places": 1.0,
            "differ": float(bool(ranked.gained)),
            "nodes": float(len(ranked.gained)),
            "tied": float(bool(ranked.tied)),
            "zeros": float(ranked.zeros),
            "orphans": float(bool(ranked.orphans)),
            **lengths[way],
            "gain": lengths[way]["length"] - base["length"],
            "gain0": lengths[way]["greedy"] - base["greedy"],
        }
        for way, ranked in trees.items()
    }


def expected_lengths(position: RecordedPosition, ranked: RankedTree) -> Counts:
    """Return a tree's accepted length: the mean and the mean square at temperature 1, and at 0."""
    growth, kept = ranked.grown.growth, ranked.grown.kept[1:]
    p, tops = (each(position, ranked.grown) for each in (target_probabilities, greedy_matches))
    warm = tree_formula.path_probabilities(growth.parents, p)
    cold = tree_formula.path_probabilities(growth.parents, tops)
    return {
        "length": sum(warm[node] for node in kept),
        "square": sum((2 * growth.depths[node] - 1) * warm[node] for node in kept),
        "greedy": sum(cold[node] for node in kept),
    }


def summarize(tallies: Tallies) -> dict[str, Any]:
    """Return the data to be stored: means by size and way, and intervals of the differences."""
    return {
        size: {way: _summarize_tally(tally) for way, tally in ways.items()}
        for size, ways in tallies.items()
    }


def _summarize_tally(tally: Tally) -> dict[str, Any]:
    means = {key: round(tally.mean(key), 5) for key in tally.prompts[0] if key != "places"}
    compared = {key: [round(x, 5) for x in tally.interval(key)] for key in ("gain", "gain0")}
    return means | {f"{key}_interval": ends for key, ends in compared.items()}


def time_arithmetic(rounds: int = 2000, width: int = 10) -> list[dict[str, Any]]:
    """Time one step of growing a tree, with products and with sums, in microseconds by dtype.

    As in SGLang's select_top_k_tokens, (1, k) totals are combined with (1, k, k) new values. The
    two operations alternate.
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
        middle = {how: sorted(seconds)[rounds // 2] * 1e6 for how, seconds in times.items()}
        found.append({"dtype": name, "width": width} | {h: round(v, 3) for h, v in middle.items()})
    return found


RANKS_FILE: Final = ASSETS / "trees" / "ranks.json"
DEEPEST: Final = 5
RANKS: Final = 10


@dataclass(frozen=True, slots=True)
class RankAcceptance:
    """The result for one drafter; by_depth: mean p of guesses at each depth and rank, (D, R)."""

    positions: int
    by_depth: list[list[float]]

    def to_json(self) -> dict[str, Any]:
        """Return the data of a file, with four digits."""
        table = [[round(value, 4) for value in row] for row in self.by_depth]
        return {"positions": self.positions, "by_depth": table}


def measure_rank_acceptance(
    target: Target,
    drafter: Drafter,
    texts: Sequence[Sequence[int]],
    settings: Settings,
) -> RankAcceptance:
    """Measure acceptance by depth and rank, at every position.

    Args:
        target: The target.
        drafter: The drafter.
        texts: Prompts as token ids.
        settings: Settings with which the texts are continued.
    """
    total = torch.zeros(DEEPEST, RANKS, dtype=torch.float64)
    seen = torch.zeros(DEEPEST, 1, dtype=torch.float64)
    for ids in texts:
        tokens = [step.token for step in plain(target, ids, settings)]
        walk = Walk(target, drafter, ids, settings, tokens)
        for index in range(len(tokens) - 1):
            for depth, row in enumerate(
                probabilities_along(walk, tokens[index + 1 : index + DEEPEST])
            ):
                total[depth, : len(row)] += row
                seen[depth] += 1
    deep = int((seen > 0).sum())
    return RankAcceptance(int(seen[0]), (total / seen.clamp(min=1))[:deep].tolist())


@torch.inference_mode()
def probabilities_along(walk: Walk, future: Sequence[int]) -> list[torch.Tensor]:
    """Return, for each depth, the target's p of the drafter's guesses after the true tokens.

    The text is then advanced by one token. future: the true tokens after the root, one fewer than
    there are rows.
    """
    tree = DraftTree.chain(walk.text[-1], future)
    guessed = []
    for node in range(min(len(tree), walk.predictor.max_depth)):
        tokens, parents = tree.tokens[: node + 1], tree.parents[: node + 1]
        logits = walk.predictor.logits_after(walk.text, tokens, parents, [node])
        guessed += rank_tokens(logits, RANKS, walk.title)[0]
    scores = walk.score(tree)
    p = logits_to_probs(scores.logits, TEMPERATURE_ONE).cpu()
    walk.advance(scores)
    return [p[node, tokens] for node, tokens in enumerate(guessed)]


@cache
def shipped_tables(file: File = RANKS_FILE) -> Mapping[str, RankAcceptance]:
    """Return the measured tables by drafter; empty if the file is missing.

    Raises BrokenFile if the file is damaged.
    """
    return read_shipped_json(file, _by_drafter) if file.is_file() else {}


def _by_drafter(data: Any) -> dict[str, RankAcceptance]:
    return {name: RankAcceptance(**row) for name, row in data["drafters"].items()}
