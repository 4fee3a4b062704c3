"""Efficiencies: the shares of a data sheet's peaks that passes are assumed to reach.

The shares and their sources are in assets/cost/efficiency.json. Only the ratio of the two shares
changes a speed-up, so its range lies at the corners of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from specviz.cost.roofline import DraftPlan, Serving, predict
from specviz.cost.sources import efficiencies


def at_default_efficiency(serving: Serving) -> Serving:
    """Return the same deployment at the default shares of both peaks."""
    reading, computing = (efficiencies()[name].default / 100 for name in ("reading", "computing"))
    return replace(serving, reading=reading, computing=computing)


def at_extremes(serving: Serving) -> list[Serving]:
    """Return the same deployment at the least and at the most of each share that is reported."""
    reading, computing = (efficiencies()[name] for name in ("reading", "computing"))
    return [
        replace(serving, reading=read / 100, computing=compute / 100)
        for read, compute in product((reading.low, reading.high), (computing.low, computing.high))
    ]


def speedup_range(serving: Serving, plan: DraftPlan, batch: int) -> tuple[float, float]:
    """Return the lowest and highest speed-up over the efficiencies that sources report."""
    gains = [predict(each, plan, batch).speedup for each in at_extremes(serving)]
    return min(gains), max(gains)
