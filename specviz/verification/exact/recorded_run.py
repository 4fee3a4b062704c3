"""A recorded run put to the proof: at every verdict, how far the rule's law lies from the target's.

A trace keeps a few rows of p and q and, over the whole vocabulary, the masses Σ min(p, q) and
Σ (p − q)₊. That is enough: where p is above q the output is q and a share of the residual, so what
is left between output and p follows from the two masses alone. Where a rule needs more than is
kept, there are bounds. All is against p as it was in force, for a later sibling what the rejections
before it had left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from specviz.trace.events import Judged, Rows
from specviz.trace.file import Trace

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class VerdictBounds:
    """One verdict. place: of the guess among the new tokens, from 0. least, most: between what the
    total variation lies; the same number where it is known. given: of this very guess, where the
    rule promises nothing on average over what q could have drawn, or where there is no q.
    """

    round: int
    node: int
    place: int
    least: float
    most: float
    given: bool


def verdict_bounds(trace: Trace) -> Iterator[VerdictBounds]:
    """Every verdict of a run, in order. A trace of a rule not known here has bounds 0 and 1."""
    proof = BOUNDS.get(trace.header.rule, _nothing)
    before = 0
    for played in trace.rounds:
        depths = played.proposed.depths if played.proposed else []
        for event in played.judged:
            place = before + depths[event.node - 1] - 1
            least, most = proof(event)
            yield VerdictBounds(played.number, event.node, place, least, most, event.rows.q is None)
        before += len(played.committed.tokens) if played.committed else 0


def worst_bounds(trace: Trace) -> Bounds:
    """Between what the largest distance of a run's verdicts lies; nothing judged is 0."""
    found = list(verdict_bounds(trace))
    return (
        max((step.least for step in found), default=0.0),
        max((step.most for step in found), default=0.0),
    )


def _known(distance: float) -> Bounds:
    return distance, distance


def _residual(event: Judged) -> Bounds:
    """Keep with min(1, p/q), or p; then the residual. Output = min(p, q) + κ (p − q)₊.

    κ is what falls over what the residual holds, 1 for a sound trace: TV = ½ |κ − 1| Σ (p − q)₊ and
    ½ |1 − Σ| of what then is missing from the sum.
    """
    rows = event.rows
    if rows.residual <= 0.0:
        return _known(max(0.0, 1.0 - rows.overlap))
    fell = 1.0 - rows.overlap
    return _known(abs(fell - rows.residual) / 2)


def _bought(event: Judged) -> Bounds:
    """Judged from the leaf up: of all that comes to this place its reach a is to come out as a p.

    A guess comes with min(q, a p); where all below fell, the place is kept with S/(S + 1 − a) and
    draws from (a p − q)₊, whose sum is S: output = min(q, a p) + κ (a p − q)₊, κ being what fell
    over S + 1 − a, 1 for a sound trace.
    """
    rows = event.rows
    reach, left = rows.share, rows.residual
    fell = 1.0 - rows.overlap
    if reach <= 0.0 or left <= 0.0:
        return _known(max(0.0, reach - rows.overlap) / reach if reach > 0.0 else 0.0)
    kappa = fell / (left + 1.0 - reach)
    return _known(abs(kappa - 1.0) * left / (2 * reach))


def _lenient(event: Judged) -> Bounds:
    """Out is above p where the test is too kind and nowhere else: TV = Σ min(q, p/l) − Σ min(p, q).

    Of the tokens that are not listed, min(q, p/l) sums to between their Σ min(p, q) and the lesser
    of Σ q and Σ p/l.
    """
    rows, lenience = event.rows, event.inputs["lenience"]
    listed = sum(min(q, p / lenience) for p, q in zip(rows.p, rows.q or [], strict=True))
    most = max(rows.rest_both, min(rows.rest_q, rows.rest_p / lenience))
    found = [max(0.0, listed + rest - rows.overlap) for rest in (rows.rest_both, most)]
    return found[0], found[1]


def _mixed(event: Judged) -> Bounds:
    """The output is w p + (1 − w) q: TV = (1 − w) TV(p, q), which is the residual's mass."""
    return _known((1.0 - event.inputs["weight"]) * event.rows.residual)


def _greedy(event: Judged) -> Bounds:
    """The top token either way, and p is that token alone: what p has elsewhere is the distance."""
    return _known(1.0 - _top(event.rows))


def _fixed(event: Judged) -> Bounds:
    """No coin decides: the guess, or p's top token. All p beside it is the distance."""
    kept = event.inputs["p"] if event.accepted else _top(event.rows)
    return _known(1.0 - kept)


def _kept(event: Judged) -> Bounds:
    """The guess always comes."""
    return _known(1.0 - event.inputs["p"])


def _above(event: Judged) -> Bounds:
    """The guess comes with the threshold and the rest as p has it: TV = |threshold − p|."""
    return _known(abs(event.threshold - event.inputs["p"]))


def _darts(event: Judged) -> Bounds:
    """Output is p where M holds: kept mass is p/M. Unlisted tokens above M q would miss some."""
    rows, least = event.rows, event.inputs["least"]
    pairs = zip(rows.p, rows.q or [], strict=True)
    missing = sum(max(0.0, p * least - q) for p, q in pairs)
    return missing, missing + least * rows.rest_p


def _nothing(event: Judged) -> Bounds:
    """What is kept says nothing."""
    return 0.0, 1.0


def _top(rows: Rows) -> float:
    return max(rows.p, default=0.0)


BOUNDS: Mapping[str, Callable[[Judged], Bounds]] = {
    "speculative": _residual,
    "without-replacement": _residual,
    "point-mass": _residual,
    "greedy": _greedy,
    "block": _bought,
    "traversal": _bought,
    "accept-reject": _darts,
    "lenience": _lenient,
    "ensemble": _mixed,
    "typical": _fixed,
    "relaxed": _fixed,
    "thresholds": _above,
    "unverified": _kept,
}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A verdict's laws cut to few tokens, to be played with. p, q: of `tokens`, each scaled to 1;
    q is None where the guess had none. held_p, held_q: what of the whole laws they hold.
    """

    tokens: list[int]
    p: list[float]
    q: list[float] | None
    held_p: float
    held_q: float


def excerpt(event: Judged, many: int = 5) -> Excerpt:
    """The tokens of a verdict that weigh most in p or q, by falling p.

    Both laws are cut to the same tokens and scaled: lumping all others into one would change α,
    since the lesser of two sums is more than the sum of the lesser ones.
    """
    rows = event.rows
    q = rows.q or [0.0] * len(rows.tokens)
    order = sorted(range(len(rows.tokens)), key=lambda at: -max(rows.p[at], q[at]))[:many]
    order.sort(key=lambda at: -rows.p[at])
    held = [sum(law[at] for at in order) for law in (rows.p, q)]
    cut = [
        [law[at] / total if total > 0 else 1 / len(order) for at in order]
        for law, total in zip((rows.p, q), held, strict=True)
    ]
    tokens = [rows.tokens[at] for at in order]
    return Excerpt(tokens, cut[0], cut[1] if rows.q else None, held[0], held[1])
