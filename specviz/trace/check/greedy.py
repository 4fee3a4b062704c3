"""Checks at temperature 0: the softmax stored beside p, and the margins of plain decoding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from specviz.trace.check.expectations import expect, expect_close
from specviz.trace.events import Baseline, Guess, Round
from specviz.trace.file import Trace
from specviz.trace.metrics import (
    FLOAT32_MARGIN,
    HALF_PRECISION_MARGIN,
    TYPICAL_TOP_LOGIT,
    accepted_path,
)

SURE: Final = 1e-9  # a smaller probability is rounding, so its logarithm means nothing
SLACK: Final = 8  # times the rounding of a logit; a margin has two logits in each of two passes


def check_soft(played: Round, guesses: Sequence[Guess], where: str) -> None:
    """Check that each node has one softmax everywhere, and that its top token has p = 1."""
    scored, drew = played.scored, played.drew
    if scored is None or scored.soft is None:
        return
    highest: dict[int, float] = {}  # by node, the softmax of its top token
    for event in played.judged:
        rows, node = event.rows, event.node
        here = f"{where}, node {node}"
        soft = dict(zip(rows.tokens, rows.soft or [], strict=True))
        expect_close(soft[guesses[node - 1].token], scored.soft[node - 1], here, "the softmax")
        top = max(soft.values())
        chosen = [soft[token] for token, p in zip(rows.tokens, rows.p, strict=True) if p > 0.0]
        expect(chosen == [top], here, "the softmax has another top token than p")
        highest[guesses[node - 1].parent] = top
    if drew is None:
        return
    expect(drew.soft is not None, where, "the drawn token has no softmax")
    soft = dict(zip(drew.tokens, drew.soft or [], strict=True))
    found = soft[drew.token]
    expect_close(found, highest.get(drew.parent, found), where, "the softmax of the drawn token")


@dataclass(frozen=True, slots=True)
class MarginBounds:
    """Bounds of the margin between the target's top two logits, from a softmax."""

    least: float
    most: float


def check_margins(trace: Trace, plain: Baseline) -> None:
    """Check that margins and softmax of the run agree while both follow the same text.

    Two computations of a logit differ by rounding, so the margin may exceed the bounds by that
    much.
    """
    if plain.margins is None:
        return
    ours = known_margins(trace)
    for at, (margin, token) in enumerate(zip(plain.margins, plain.token_ids, strict=True)):
        if at >= len(ours):
            return
        committed, bounds = ours[at]
        top = plain.tops[at] if plain.tops else None
        slack = margin_slack(trace.header.dtype, top)
        problem = f"the margin of new token {at + 1} is {margin:.3g}, but the run shows "
        low = bounds.least - slack <= margin
        expect(low, "Baseline", f"{problem}{bounds.least:.3g} or more")
        high = margin <= bounds.most + slack
        expect(high, "Baseline", f"{problem}{bounds.most:.3g} or less")
        if committed != token:
            return


def margin_slack(dtype: str, top: float | None) -> float:
    """Return how far rounding may move a margin between two computations."""
    size = TYPICAL_TOP_LOGIT if top is None else min(abs(top), 8 * TYPICAL_TOP_LOGIT)
    return SLACK * max(FLOAT32_MARGIN, HALF_PRECISION_MARGIN.get(dtype, 0.0) * size)


def known_margins(trace: Trace) -> list[tuple[int, MarginBounds]]:
    """Return each new token's id with the bounds of its margin from the run's softmax."""
    found: list[tuple[int, MarginBounds]] = []
    for played in trace.rounds:
        tokens = played.committed.tokens if played.committed else []
        found += zip(tokens, round_margins(played), strict=False)
    return found


def round_margins(played: Round) -> Iterator[MarginBounds]:
    """Yield the bounds of the margin of each token of a round, in order."""
    guesses = played.proposed.guesses if played.proposed else []
    listed: dict[int, MarginBounds] = {}
    for event in played.judged:
        if event.rows.soft:
            parent = guesses[event.node - 1].parent
            listed.setdefault(parent, bounds_from_two(event.rows.soft))
    nothing = MarginBounds(0.0, math.inf)
    for node in accepted_path(played):
        yield listed.get(guesses[node - 1].parent, nothing)
    if played.drew and played.drew.soft:
        yield listed.get(played.drew.parent) or bounds_from_top(max(played.drew.soft))


def bounds_from_two(soft: Sequence[float]) -> MarginBounds:
    """Return the margin of two listed tokens: ln of their ratio, unless the second is rounding."""
    first, second = sorted(soft, reverse=True)[:2] if len(soft) > 1 else (soft[0], 0.0)
    if second < SURE or first <= 0.0:
        return MarginBounds(
            math.log(max(first, SURE) / SURE) - 1.0 if first > 0.5 else 0.0, math.inf
        )
    margin = math.log(first / second)
    return MarginBounds(margin, margin)


def bounds_from_top(first: float) -> MarginBounds:
    """Return bounds from the top token alone: the second has at most the remaining mass."""
    left = max(1.0 - first, SURE)
    return MarginBounds(max(0.0, math.log(first / left)) if first > 0.5 else 0.0, math.inf)
