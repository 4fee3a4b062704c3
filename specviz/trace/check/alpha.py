"""Recompute α of a position from the overlap, the scores, or the tries of all siblings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specviz.trace.check.expectations import MIN_MASS, expect, expect_close, expect_probabilities
from specviz.trace.events import Guess, Judged
from specviz.trace.thresholds import probability_any_accepted


def children(guesses: Sequence[Guess], node: int) -> list[int]:
    """Return the children of a node in the order tried."""
    return [i for i, guess in enumerate(guesses, 1) if guess.parent == node]


def check_alpha(
    judged: Sequence[Judged],
    scored: Sequence[float],
    guesses: Sequence[Guess],
    replaced: bool,
    where: str,
) -> None:
    """Check α of one position.

    Args:
        judged: The position's decisions, in order.
        scored: The score p of each guess.
        guesses: The round's guesses.
        replaced: Whether siblings were sampled with replacement, that is, independently.
        where: The position, for messages.
    """
    first = judged[0]
    siblings = children(guesses, guesses[first.node - 1].parent)
    alpha = math.nan if first.alpha is None else first.alpha
    several = first.rows.q is not None and len(siblings) > 1
    later = all(event.alpha is None and event.tries is None for event in judged[1:])
    expect(later, where, "α is given at a sibling after the first")
    expect(
        several or first.tries is None, where, "tries are given for fewer than two sampled guesses"
    )
    p = [scored[node - 1] for node in siblings]
    if first.rows.q is None:
        mass = dict(zip((guesses[node - 1].token for node in siblings), p, strict=True))
        expect_close(alpha, math.fsum(mass.values()), where, "α")
    elif not several:
        expect_close(alpha, first.rows.overlap, where, "α")
    elif first.tries is None:  # recorded before tries were stored: see `list_assumptions`
        expect_probabilities([alpha], where, "α")
    else:
        check_tries(first.tries, judged, [guesses[node - 1] for node in siblings], where)
        check_turns(first.tries, judged, p, replaced, where)
        expect_close(alpha, probability_any_accepted(first.tries), where, "α")


def check_tries(
    tries: Sequence[Sequence[float]],
    judged: Sequence[Judged],
    siblings: Sequence[Guess],
    where: str,
) -> None:
    """Check that every sibling has a try with its q, and a judged one with its inputs."""
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
    """Check p of each sibling's try against its score, as far as the stored masses allow.

    Every rejection subtracts q and divides by the residual's mass. Rejected siblings were judged,
    so their masses are stored; p of the first sibling that was not tried follows too, p of those
    after it does not.
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
