"""Check distributions against temperature, top-k and top-p, and at temperature 0.

A trace stores distributions after they were cut and normalized. So a wrong top-p is detected only
if a kept token is so improbable that it cannot have been needed to reach top-p. At temperature 0,
the softmax, which is stored together with p, and the margins of plain decoding are checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from specviz.settings.settings import Sampling
from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.expectations import TOLERANCE, expect, expect_close
from specviz.trace.check.families import GROWING, IN_ORDER
from specviz.trace.events import Baseline, Judged, Round
from specviz.trace.file import Trace
from specviz.trace.metrics import (
    FLOAT32_MARGIN,
    HALF_PRECISION_MARGIN,
    TYPICAL_TOP_LOGIT,
    accepted_path,
)
from specviz.trace.rule_specs import AfterRejection

UNDERFLOWS: Final = 0.5  # below this temperature, improbable tokens may round to 0
TIES: Final = 16  # how many tokens may tie with the k-th, which top-k also keeps
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Listed:
    """Some tokens of a distribution, and the mass of all other tokens.

    Attributes:
        rest: The mass of all other tokens; None if it is not stored.
        own: Whether it is the target's distribution rather than a residual.
        excluded: How many tokens the target itself excludes, with a logit of minus infinity.
    """

    p: Sequence[float]
    rest: float | None
    own: bool = True
    excluded: int = 0


def check_supports(checked: CheckedRound) -> None:
    """Check every distribution of a round against the sampling settings.

    Raises CheckFailed if one does not agree.
    """
    sampling, size, where = checked.settings.sampling, checked.size, checked.where
    exact = checked.header.target.family != "served" and not checked.header.device.startswith("mps")
    for listed in target_distributions(checked):
        if sampling.greedy:
            whole = all(p in (0.0, 1.0) for p in listed.p) and not listed.rest
            expect(whole, where, "temperature 0 leaves one token, but a probability is below 1")
            continue
        check_top_k(listed, sampling, size, where, "p")
        if listed.own:
            check_top_p(listed.p, sampling, size, where, "p")
        if listed.own and exact:
            check_uncut(listed, sampling, where)
    if checked.family in GROWING | IN_ORDER and not sampling.greedy:
        check_q(checked, sampling)


def target_distributions(checked: CheckedRound) -> Iterator[Listed]:
    """Yield every distribution of the target that is listed in a round."""
    excluded = checked.scored.excluded or [0] * (len(checked.guesses) + 1)
    for node, top in enumerate(checked.scored.top):
        known = {int(token): p for token, p in top} | checked.scores_after(node)
        yield Listed([*known.values()], None, excluded=excluded[node])
    seen: set[int] = set()
    for event in checked.played.judged:
        parent = checked.guesses[event.node - 1].parent
        yield Listed(event.rows.p, event.rows.rest_p, parent not in seen, excluded[parent])
        seen.add(parent)
    if drew := checked.played.drew:
        cut = checked.plan.spec.after_rejection is AfterRejection.TOP  # the top token alone
        own = drew.kind != "recovered" and not cut
        yield Listed(drew.p, drew.rest_p, own, excluded[drew.parent])


def check_top_k(listed: Listed, sampling: Sampling, size: int, where: str, what: str) -> None:
    """Check that fewer than k tokens are more probable than the least probable one kept."""
    if not 0 < sampling.top_k < size:
        return
    positive = [p for p in listed.p if p > 0.0]
    least = min(positive, default=0.0)
    if listed.rest is not None and listed.rest > TOLERANCE:
        least = max(least, listed.rest)  # an unlisted token has at most this probability
    above = sum(p > least + ROUNDING for p in positive)
    problem = f"{what} has more tokens than top-k {sampling.top_k} leaves"
    expect(above < sampling.top_k, where, problem)


def check_top_p(p: Iterable[float], sampling: Sampling, size: int, where: str, what: str) -> None:
    """Check that the least probable token was needed to reach top-p.

    A share K of the whole distribution was kept. Every token that was cut is at most as probable as
    the least probable token x that was kept, so 1 − K ≤ n K x for n tokens; and without x, K (1 −
    x) < top-p.
    """
    least = min((each for each in p if each > 0.0), default=1.0)
    if sampling.top_p >= 1.0 or least >= 1.0:
        return
    tokens = min(size, sampling.top_k + TIES) if sampling.top_k else size
    needed = 1.0 / (1.0 + tokens * least) <= sampling.top_p / (1.0 - least) + ROUNDING
    problem = f"{what} keeps a token of {least:.2g} that top-p {sampling.top_p:g} cuts"
    expect(needed, where, problem)


def check_uncut(listed: Listed, sampling: Sampling, where: str) -> None:
    """Check that without top-k and top-p only tokens that the target excludes have p = 0."""
    if sampling.cuts or sampling.temperature < UNDERFLOWS:
        return
    zeros = sum(p == 0.0 for p in listed.p)
    problem = "p of a token is 0, but the settings cut none"
    if listed.excluded:
        problem = f"p of {zeros} tokens is 0, but the target excludes {listed.excluded}"
    expect(zeros <= listed.excluded, where, problem)


def check_q(checked: CheckedRound, sampling: Sampling) -> None:
    """Check that a draft model sampled with the run's temperature, top-k and top-p."""
    size, where, guesses = checked.size, checked.where, checked.guesses
    first: dict[int, Judged] = {}
    for event in checked.played.judged:
        first.setdefault(guesses[event.node - 1].parent, event)
    for event in first.values():
        if event.rows.q is not None:
            listed = Listed(event.rows.q, event.rows.rest_q)
            check_top_k(listed, sampling, size, where, "q")
            check_top_p(listed.p, sampling, size, where, "q")
    for node, guess in enumerate(guesses, 1):
        is_first = checked.siblings(node)[0] == node
        if is_first and guess.q is not None and guess.drawn and guess.score is not None:
            lower, here = guess.drawn.lo, checked.node(node)
            check_temperature(guess.q, guess.score, lower, sampling, here)


def check_temperature(q: float, score: float, lower: float, sampling: Sampling, where: str) -> None:
    """Check that q agrees with the score, which is the probability at temperature 1.

    Below temperature 1, the most probable token becomes more probable, above 1 less. Top-k and
    top-p make it more probable.

    Args:
        q: The probability of a first sibling.
        score: Its score.
        lower: The lower end of its interval; 0 if no token is more probable.
        sampling: The sampling settings.
        where: The node, for messages.
    """
    slack = 1e-4  # the score is float32
    if sampling.temperature == 1.0 and not sampling.cuts:
        problem = f"q at temperature 1 is {q!r} but should be its score, {score!r}"
        expect(abs(q - score) <= slack, where, problem)
    if lower > 0.0:
        return
    if sampling.temperature <= 1.0:
        expect(q >= score - slack, where, "q of the top token is below its score")
    elif not sampling.cuts:
        expect(q <= score + slack, where, "q of the top token is above its score")


SURE: Final = 1e-9  # smaller probabilities are rounding errors, whose logarithm is meaningless
SLACK: Final = 8  # times the rounding of one logit; a margin has two logits, in each of two passes


def check_soft(checked: CheckedRound) -> None:
    """Check that all softmax values of a node agree, and that its top token has p = 1."""
    scored, drew, guesses = checked.scored, checked.played.drew, checked.guesses
    if scored.soft is None:
        return
    highest: dict[int, float] = {}  # softmax of the top token after each node
    for event in checked.played.judged:
        rows, node = event.rows, event.node
        here = checked.node(node)
        soft = dict(zip(rows.tokens, rows.soft or [], strict=True))
        expect_close(soft[guesses[node - 1].token], scored.soft[node - 1], here, "the softmax")
        top = max(soft.values())
        chosen = [soft[token] for token, p in zip(rows.tokens, rows.p, strict=True) if p > 0.0]
        expect(chosen == [top], here, "the softmax has another top token than p")
        highest[guesses[node - 1].parent] = top
    if drew is None:
        return
    expect(drew.soft is not None, checked.where, "the drawn token has no softmax")
    soft = dict(zip(drew.tokens, drew.soft or [], strict=True))
    found = soft[drew.token]
    known = highest.get(drew.parent, found)
    expect_close(found, known, checked.where, "the softmax of the drawn token")


@dataclass(frozen=True, slots=True)
class MarginBounds:
    """Bounds of the margin between the target's top two logits, from a softmax."""

    least: float
    most: float


def check_margins(trace: Trace, plain: Baseline) -> None:
    """Check plain decoding's margins against the run's softmax, up to rounding, on equal text."""
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
    """Return each new token's id, with bounds of its margin from the run's softmax."""
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
    """Return ln of the ratio of the top two tokens; a lower bound if the second is tiny."""
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
