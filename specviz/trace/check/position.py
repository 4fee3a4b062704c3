"""Check one position: its listed distributions, the draws from them, and α.

Values must be between 0 and 1 and sum to 1, sums must be possible for the listed values, and u must
be in the drawn token's interval. α is recomputed from the overlap, from the scores, or from the p
and q stored for each sibling (its try).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.expectations import (
    MIN_MASS,
    TOLERANCE,
    expect,
    expect_close,
    expect_probabilities,
)
from specviz.trace.events import Drew, Guess, Interval, Judged, Rows
from specviz.trace.rule_specs import probability_any_accepted


def check_rows(rows: Rows, token: int, size: int, where: str) -> None:
    """Check the listed values of one decision."""
    q = rows.q or [1.0 if other == token else 0.0 for other in rows.tokens]
    check_values(rows, q, where)
    expect(len(set(rows.tokens)) == len(rows.tokens), where, "the rows list a token twice")
    inside = all(0 <= other < size for other in rows.tokens)
    expect(inside, where, "the rows list a token outside the vocabulary")
    same_size = len(rows.tokens) + rest_tokens(rows, where) == size
    expect(same_size, where, "the rows do not cover the whole vocabulary")
    check_totals(rows, q, where)


def rest_tokens(rows: Rows, where: str) -> int:
    """Return how many tokens are not listed; if all are listed, check that no mass remains."""
    masses = (rows.rest_p, rows.rest_q, rows.rest_both, rows.rest_residual, rows.rest_soft)
    empty = rows.rest_tokens > 0 or not any(masses)
    expect(empty, where, "the rows give mass to other tokens, but all are listed")
    return rows.rest_tokens


def check_values(rows: Rows, q: list[float], where: str) -> None:
    """Check that every value is a probability."""
    expect_probabilities([*rows.p, rows.rest_p], where, "p")
    expect_probabilities([*q, rows.rest_q], where, "q")
    expect_probabilities([*(rows.soft or []), rows.rest_soft], where, "the softmax")
    masses = [rows.rest_both, rows.rest_residual, rows.overlap, rows.residual, rows.share]
    expect_probabilities(masses, where, "a mass")


def check_totals(rows: Rows, q: list[float], where: str) -> None:
    """Check that p and q sum to 1, and the available overlap and residual to their parts."""
    share = rows.share
    expect_close(math.fsum([*rows.p, rows.rest_p]), 1.0, where, "the total of p")
    expect_close(math.fsum([*q, rows.rest_q]), 1.0, where, "the total of q")
    fits = rows.soft is not None or not rows.rest_soft
    expect(fits, where, "it has a rest of the softmax but no softmax")
    if rows.soft is not None:
        complete = len(rows.soft) == len(rows.tokens)
        expect(complete, where, "it does not have a softmax for every listed token")
        expect_close(
            math.fsum([*rows.soft, rows.rest_soft]), 1.0, where, "the total of the softmax"
        )
    both = math.fsum([*map(min, rows.claimed, q), rows.rest_both])
    expect_close(rows.overlap, both, where, "the overlap")
    above = math.fsum([*(max(a - b, 0.0) for a, b in zip(rows.claimed, q, strict=True))])
    expect_close(rows.residual, above + rows.rest_residual, where, "the residual's mass")
    most = min(share * rows.rest_p, rows.rest_q) + TOLERANCE
    expect(rows.rest_both <= most, where, "the overlap of the other tokens exceeds their p or q")
    # max(p − q, 0) = p − min(p, q) for each token, and so for the sums
    expect_close(
        rows.rest_residual,
        share * rows.rest_p - rows.rest_both,
        where,
        "the residual of all others",
    )


def check_interval(drawn: Interval, probability: float, where: str) -> None:
    """Check that u is in [lo, hi), and that hi − lo is the token's probability."""
    expect_probabilities([drawn.lo, drawn.hi], where, "the interval")
    expect(drawn.lo <= drawn.u < drawn.hi, where, "u is outside the drawn interval")
    expect_close(drawn.hi - drawn.lo, probability, where, "the interval's width")


def check_begins(drawn: Interval, where: str) -> None:
    """Check that the interval starts at 0, or after an interval that is at least as wide."""
    fits = drawn.lo == 0.0 or drawn.lo >= drawn.hi - drawn.lo - TOLERANCE
    expect(fits, where, "the interval starts where no more probable token's interval ends")


def check_lower(
    drawn: Interval, token: int, probs: Mapping[int, float], rest: float, where: str
) -> None:
    """Check the interval's lower end: the total probability of the tokens before it.

    Args:
        drawn: The draw.
        token: The token that was drawn.
        probs: Listed tokens with their probabilities, `token` among them.
        rest: The mass of all unlisted tokens; such a token comes before the drawn token only if
            this mass is at least as large as the drawn token's.
        where: The position, for messages.
    """
    before = math.fsum(v for t, v in probs.items() if (-v, t) < (-probs[token], token))
    hidden = rest if rest >= probs[token] - TOLERANCE else 0.0
    fits = before - TOLERANCE <= drawn.lo <= before + hidden + TOLERANCE
    problem = f"the interval's lower end is {drawn.lo!r} instead of {before!r}"
    expect(fits, where, problem if not hidden else f"{problem} to {before + hidden!r}")


def check_drew(drew: Drew, size: int, where: str) -> None:
    """Check the last token's distribution, its order, and the interval of the token."""
    inside = all(0 <= token < size for token in drew.tokens)
    expect(inside, where, "the last distribution lists a token outside the vocabulary")
    whole = len(drew.tokens) + drew.rest_tokens == size
    expect(whole, where, "the last distribution does not cover the whole vocabulary")
    at = drew.tokens.index(drew.token) if drew.token in drew.tokens else -1
    expect(at >= 0, where, "the drawn token is not in the last distribution")
    once = len(set(drew.tokens)) == len(drew.tokens)
    expect(once, where, "the last distribution lists a token twice")
    expect_probabilities([*drew.p, drew.rest_p], where, "the last distribution")
    expect_probabilities(drew.soft or [], where, "the last distribution's softmax")
    check_interval(drew.drawn, drew.p[at], where)
    total = math.fsum([*drew.p, drew.rest_p])
    expect_close(total, 1.0, where, "the total of the last distribution")
    ordered = list(zip([-p for p in drew.p], drew.tokens, strict=True))
    falling = ordered == sorted(ordered)
    expect(falling, where, "the last distribution is not in falling order of probability")
    # The most probable tokens are listed, and the drawn one. If the drawn one is not the last of
    # the list, all tokens above it are listed.
    rest = drew.rest_p if at == len(drew.p) - 1 else 0.0
    listed = drew.p[:-1] if at == len(drew.p) - 1 and at else drew.p
    most = drew.rest_tokens * min(listed) + TOLERANCE
    expect(drew.rest_p <= most, where, "the tokens that are not listed have too much probability")
    check_lower(drew.drawn, drew.token, dict(zip(drew.tokens, drew.p, strict=True)), rest, where)


def check_alpha(judged: Sequence[Judged], checked: CheckedRound, where: str) -> None:
    """Check α of one position, whose decisions are `judged`, in order."""
    first = judged[0]
    siblings = checked.siblings(first.node)
    guesses = [checked.guesses[node - 1] for node in siblings]
    alpha = math.nan if first.alpha is None else first.alpha
    several = first.rows.q is not None and len(siblings) > 1
    later = all(event.alpha is None and event.tries is None for event in judged[1:])
    expect(later, where, "α is given at a sibling after the first")
    expect(
        several or first.tries is None, where, "tries are given for fewer than two sampled guesses"
    )
    p = [checked.scored.p[node - 1] for node in siblings]
    if first.rows.q is None:
        mass = dict(zip((guess.token for guess in guesses), p, strict=True))
        expect_close(alpha, math.fsum(mass.values()), where, "α")
    elif not several:
        expect_close(alpha, first.rows.overlap, where, "α")
    elif first.tries is None:  # recorded before tries were stored; see `list_assumptions`
        expect_probabilities([alpha], where, "α")
    else:
        check_tries(first.tries, judged, guesses, where)
        check_turns(first.tries, judged, p, checked.drawn == "sampled", where)
        expect_close(alpha, probability_any_accepted(first.tries), where, "α")


def check_tries(
    tries: Sequence[Sequence[float]],
    judged: Sequence[Judged],
    siblings: Sequence[Guess],
    where: str,
) -> None:
    """Check that every sibling has a try with its q; judged ones must agree with their inputs."""
    expect(len(tries) == len(siblings), where, "not every sibling has a try")
    expect(all(len(each) == 2 for each in tries), where, "a try is not a pair of p and q")
    expect_probabilities((value for each in tries for value in each), where, "a try")
    for (_, q), guess in zip(tries, siblings, strict=True):
        expect_close(q, math.nan if guess.q is None else guess.q, where, "q of a try")
    for (p, q), event in zip(tries, judged, strict=False):
        expect_close(p, event.inputs["p"], where, "p of a try")
        expect_close(q, event.inputs["q"], where, "q of a try")


def check_turns(
    tries: Sequence[Sequence[float]],
    judged: Sequence[Judged],
    scored: Sequence[float],
    replaced: bool,
    where: str,
) -> None:
    """Check p in each sibling's try against its score, as far as the stored values allow.

    Every rejection subtracts q from p and divides by the residual's mass, which is stored for
    siblings that were judged. So p is known for these, and for the first sibling that was not
    judged, but not for those after it.
    """
    for at in range(min(len(tries), len(judged) + 1)):
        left, q = scored[at], tries[at][1]
        remaining = [1.0 if replaced else 1.0 - own for _, own in tries[:at]]
        if min(remaining, default=1.0) < MIN_MASS:
            return
        for before, event in enumerate(judged[:at]):
            if event.rows.residual < MIN_MASS:
                return
            left = max(left - q * math.prod(remaining[before:]), 0.0) / event.rows.residual
        expect_close(tries[at][0], left, where, "p of a try")
