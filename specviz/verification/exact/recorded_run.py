"""How far each verdict of a recorded run can be from the target's distribution.

A trace stores a few rows of p and q and, over the whole vocabulary, Σ min(p, q) and Σ (p − q)₊. For
speculative sampling these two sums determine the distance between the output and p. For rules that
would need more than is stored, bounds are computed. The distance is measured from the p that the
guess was judged by: for a later sibling, the residual after the rejections before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from specviz.trace.events import Judged, Rows
from specviz.trace.file import Trace

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class VerdictBounds:
    """Bounds on the total variation between the output and p at one verdict.

    Attributes:
        place: The position of the guess among the new tokens, from 0.
        most: The upper bound; equal to `least` if the distance is known.
        given: Whether the distance is conditional on this guess, because there is no q, or the rule
            guarantees nothing on average over q.
    """

    round: int
    node: int
    place: int
    least: float
    most: float
    given: bool


def verdict_bounds(trace: Trace) -> Iterator[VerdictBounds]:
    """Yield the bounds of every verdict of a run, in order; an unknown rule has bounds 0 and 1."""
    proof = BOUNDS.get(trace.header.rule, _unknown)
    before = 0
    for played in trace.rounds:
        depths = played.proposed.depths if played.proposed else []
        for event in played.judged:
            place = before + depths[event.node - 1] - 1
            least, most = proof(event)
            yield VerdictBounds(played.number, event.node, place, least, most, event.rows.q is None)
        before += len(played.committed.tokens) if played.committed else 0


def worst_bounds(trace: Trace) -> Bounds:
    """Return bounds on the largest distance of a run's verdicts; 0 if nothing was judged."""
    found = list(verdict_bounds(trace))
    return (
        max((step.least for step in found), default=0.0),
        max((step.most for step in found), default=0.0),
    )


def _exact(distance: float) -> Bounds:
    return distance, distance


def _residual(event: Judged) -> Bounds:
    # Rules that accept with min(1, p/q), or p, and sample the residual output min(p, q) + κ (p −
    # q)₊, where κ is the rejected mass divided by the residual's mass; it is 1 if the trace is
    # correct. TV = ½ |κ − 1| Σ (p − q)₊, plus half of the mass missing from 1.
    rows = event.rows
    if rows.residual <= 0.0:
        return _exact(max(0.0, 1.0 - rows.overlap))
    rejected = 1.0 - rows.overlap
    return _exact(abs(rejected - rows.residual) / 2)


def _leaf_first(event: Judged) -> Bounds:
    # From the leaf up, a share a of p is available, the reach of the position. A guess is output
    # with probability min(q, a p). If everything below the position was rejected, it is accepted
    # with probability S/(S + 1 − a) and its token is sampled from (a p − q)₊, whose sum is S. So
    # the output is min(q, a p) + κ (a p − q)₊, where κ is the rejected mass divided by S + 1 − a;
    # it is 1 if the trace is correct.
    rows = event.rows
    reach, left = rows.share, rows.residual
    rejected = 1.0 - rows.overlap
    if reach <= 0.0 or left <= 0.0:
        return _exact(max(0.0, reach - rows.overlap) / reach if reach > 0.0 else 0.0)
    kappa = rejected / (left + 1.0 - reach)
    return _exact(abs(kappa - 1.0) * left / (2 * reach))


def _lenience(event: Judged) -> Bounds:
    # TV = Σ min(q, p/l) − Σ min(p, q), from the tokens whose output exceeds p. For the tokens not
    # listed, min(q, p/l) sums to at least Σ min(p, q), and to at most the smaller of Σ q and Σ p/l.
    rows, lenience = event.rows, event.inputs["lenience"]
    listed = sum(min(q, p / lenience) for p, q in zip(rows.p, rows.q or [], strict=True))
    most = max(rows.rest_both, min(rows.rest_q, rows.rest_p / lenience))
    found = [max(0.0, listed + rest - rows.overlap) for rest in (rows.rest_both, most)]
    return found[0], found[1]


def _ensemble(event: Judged) -> Bounds:
    # (1 − w) TV(p, q), since the output of the ensemble is w p + (1 − w) q.
    return _exact((1.0 - event.inputs["weight"]) * event.rows.residual)


def _greedy(event: Judged) -> Bounds:
    # The output is always the top token.
    return _exact(1.0 - _top(event.rows))


def _deterministic(event: Judged) -> Bounds:
    # The output is the guess or the top token.
    output_p = event.inputs["p"] if event.accepted else _top(event.rows)
    return _exact(1.0 - output_p)


def _always_accepted(event: Judged) -> Bounds:
    return _exact(1.0 - event.inputs["p"])


def _thresholds(event: Judged) -> Bounds:
    # Only the guess's output probability, the threshold, differs from p.
    return _exact(abs(event.threshold - event.inputs["p"]))


def _fly(event: Judged) -> Bounds:
    # FLy never overrules a target that is sure. Otherwise a guess is output with probability min(p,
    # q) + π (q − min(p, q)), where π, the probability that the next guesses pass, is not known.
    least, most = _residual(event)
    if event.inputs["top_entropy"] < event.inputs["limit"]:
        return least, most
    return least, max(most, 1.0 - event.rows.overlap)


def _accept_reject(event: Judged) -> Bounds:
    # 0 if M is correct, since only a wrong M loses mass.
    rows, least = event.rows, event.inputs["least"]
    pairs = zip(rows.p, rows.q or [], strict=True)
    missing = sum(max(0.0, p * least - q) for p, q in pairs)
    return missing, missing + least * rows.rest_p


def _unknown(event: Judged) -> Bounds:
    # The stored values cannot bound this rule.
    return 0.0, 1.0


def _top(rows: Rows) -> float:
    return max(rows.p, default=0.0)


BOUNDS: Mapping[str, Callable[[Judged], Bounds]] = {
    "speculative": _residual,
    "without-replacement": _residual,
    "point-mass": _residual,
    "greedy": _greedy,
    "block": _leaf_first,
    "traversal": _leaf_first,
    "accept-reject": _accept_reject,
    "lenience": _lenience,
    "ensemble": _ensemble,
    "typical": _deterministic,
    "relaxed": _deterministic,
    "thresholds": _thresholds,
    "fly": _fly,
    "unverified": _always_accepted,
}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The distributions of a verdict cut to a few tokens.

    Attributes:
        p: The p of these tokens, normalized.
        q: The q of these tokens, normalized; None if the guess had no q.
        p_mass: The sum of p over these tokens, before normalizing.
        q_mass: The sum of q over these tokens, before normalizing.
    """

    tokens: list[int]
    p: list[float]
    q: list[float] | None
    p_mass: float
    q_mass: float


def excerpt(event: Judged, count: int = 5) -> Excerpt:
    """Return the tokens with the highest p or q at a verdict, in descending order of p.

    Both distributions are cut to the same tokens and normalized. (Merging all other tokens into one
    would change α, since the minimum of two sums is at least the sum of the minima.)
    """
    rows = event.rows
    q = rows.q or [0.0] * len(rows.tokens)
    order = sorted(range(len(rows.tokens)), key=lambda at: -max(rows.p[at], q[at]))[:count]
    order.sort(key=lambda at: -rows.p[at])
    totals = [sum(probs[at] for at in order) for probs in (rows.p, q)]
    cut = [
        [probs[at] / total if total > 0 else 1 / len(order) for at in order]
        for probs, total in zip((rows.p, q), totals, strict=True)
    ]
    tokens = [rows.tokens[at] for at in order]
    return Excerpt(tokens, cut[0], cut[1] if rows.q else None, totals[0], totals[1])
