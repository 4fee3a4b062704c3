"""One tree ranked eight ways: products or sums of logs, in four precisions.

In exact arithmetic all eight agree, since the logarithm is monotone; only rounding can part them
(SGLang #12637, DRAFTERS.md 12). Each way grows its own tree, frontier and rerank alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch

from specviz.drafters.kit.growth import Totals
from specviz.trees.field import Field, Path
from specviz.trees.growing import Grown, grown
from specviz.trees.parameters import Parameters
from specviz.trees.study import EXACT

DTYPES: Final[Mapping[str, torch.dtype]] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
WAYS: Final[Mapping[str, Totals]] = {
    f"{how} {name}": Totals(how, dtype)
    for how in ("product", "sum")
    for name, dtype in DTYPES.items()
}


@dataclass(frozen=True)
class Ranked:
    """A tree ranked one way, beside the exact one.

    gained, lost: paths that only it, only the exact one keeps. tied: guesses dropped whose total is
    that of the last one kept, so that order alone decided. zeros: guesses of the pool whose product
    is 0. orphans: what EAGLE's own selection, `torch.topk`, keeps here without the parent.
    """

    way: str
    grown: Grown
    gained: frozenset[Path]
    lost: frozenset[Path]
    tied: int
    zeros: int
    orphans: list[int]


def ranked(field: Field, parameters: Parameters) -> list[Ranked]:
    """All eight, in the order of WAYS."""
    made = {way: grown(field, parameters, kind) for way, kind in WAYS.items()}
    exact = made[EXACT].paths
    return [_ranked(way, one, exact) for way, one in made.items()]


def _ranked(way: str, one: Grown, exact: frozenset[Path]) -> Ranked:
    mine, totals = one.paths, one.growth.totals
    dropped = one.order[one.budget :]
    last = totals[one.order[one.budget - 1]] if dropped else math.inf
    return Ranked(
        way,
        one,
        mine - exact,
        exact - mine,
        tied=sum(totals[node] == last for node in dropped),
        zeros=0 if one.growth.kind.how == "sum" else totals.count(0.0),
        orphans=orphans(one),
    )


def orphans(one: Grown) -> list[int]:
    """Nodes that a selection without a rule for ties keeps, and whose parent it does not keep.

    `torch.topk` promises no order among equals. EAGLE's code then makes such a node its own parent,
    or a path that does not begin at the root.
    """
    totals = torch.tensor(one.growth.totals[1:], dtype=one.growth.kind.dtype)
    found = totals.topk(min(one.budget, len(totals))).indices + 1
    kept = {0, *found.tolist()}
    return sorted(node for node in kept if node and one.growth.parents[node] not in kept)
