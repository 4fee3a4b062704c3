"""α again: from the overlap, the scores, or what every sibling would have been tried with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specviz.trace.check.expectations import MIN_MASS, expect, expect_close, expect_probabilities
from specviz.trace.events import Guess, Judged
from specviz.trace.thresholds import probability_any_accepted


def children(guesses: Sequence[Guess], node: int) -> list[int]:
    """The children of a node in the order tried."""
    return [i for i, guess in enumerate(guesses, 1) if guess.parent == node]


def check_alpha(
    judged: Sequence[Judged],
    scored: Sequence[float],
    guesses: Sequence[Guess],
    replaced: bool,
    where: str,
) -> None:
    """α of one position. judged: its decisions, in order. scored: by guess, p.

    replaced: siblings were drawn with replacement, independently.
    """
    first = judged[0]
    siblings = children(guesses, guesses[first.node - 1].parent)
    alpha = math.nan if first.alpha is None else first.alpha
    several = first.rows.q is not None and len(siblings) > 1
    later = all(event.alpha is None and event.tries is None for event in judged[1:])
    expect(later, where, "α stands at the first sibling")
    expect(several or first.tries is None, where, "tries are kept of several sampled guesses only")
    p = [scored[node - 1] for node in siblings]
    if first.rows.q is None:
        mass = dict(zip((guesses[node - 1].token for node in siblings), p, strict=True))
        expect_close(alpha, math.fsum(mass.values()), where, "α")
    elif not several:
        expect_close(alpha, first.rows.overlap, where, "α")
    elif first.tries is None:  # recorded before tries were kept: see `unproven`
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
    """Every sibling has its try, with the q that drew it; a judged one with its own inputs."""
    expect(len(tries) == len(siblings), where, "a try for every sibling")
    expect(all(len(each) == 2 for each in tries), where, "a try is p and q")
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
    """p of each sibling at its turn, from the score, as far as the masses before it are stored.

    Every rejection takes q off and scales by the residual's mass; one that fell is judged, so the
    first sibling that was not tried follows too, and those after it do not.
    """
    for at in range(min(len(tries), len(judged) + 1)):
        left, q = scored[at], tries[at][1]
        kept = [1.0 if replaced else 1.0 - own for _, own in tries[:at]]
        if min(kept, default=1.0) < MIN_MASS:
            return
        for before, event in enumerate(judged[:at]):
            if event.rows.residual < MIN_MASS:
                return
            left = max(left - q * math.prod(kept[before:]), 0.0) / event.rows.residual
        expect_close(tries[at][0], left, where, "p of a try")
