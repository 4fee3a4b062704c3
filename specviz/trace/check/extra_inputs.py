"""Check the inputs of thresholds other than p and q, as far as the listed tokens allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from specviz.trace.check.alpha import children
from specviz.trace.check.expectations import MIN_MASS, TOLERANCE, expect, expect_close
from specviz.trace.events import Drew, Guess, Judged, Round, Rows

InputCheck = Callable[[Judged, Sequence[Guess], Round, str], None]


def check_extra_inputs(played: Round, guesses: Sequence[Guess], where: str) -> None:
    """Check every extra input of every verdict of a round. Raises CheckFailed."""
    for event in played.judged:
        for name, check in EXTRA_INPUTS.items():
            if name in event.inputs:
                check(event, guesses, played, f"{where}, node {event.node}")


def check_least(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check that the smallest q/p of all tokens is at most that of any listed token."""
    least, rows = event.inputs["least"], event.rows
    listed = zip(rows.p, rows.q or [], strict=True)
    fits = least >= 0.0 and all(least * p <= q + TOLERANCE for p, q in listed)
    expect(fits, where, f"the least q/p is {least!r}, but a listed token has less")


def check_rho(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check that ρ is between 1 and the number of siblings, and check the residual after them."""
    rho, siblings = event.inputs["rho"], _siblings(event, guesses)
    fits = 1.0 <= rho <= len(siblings) + TOLERANCE
    expect(fits, where, f"ρ is {rho!r}, but must be between 1 and {len(siblings)}")
    drew = played.drew
    if drew is not None and drew.kind == "recovered" and event is played.judged[-1]:
        check_beyond(event.rows, rho, drew, where)


def check_beyond(rows: Rows, rho: float, drew: Drew, where: str) -> None:
    """Check that the last distribution is proportional to (p − ρ q)₊ where both are listed."""
    pairs = zip(rows.tokens, rows.p, rows.q or [], strict=True)
    above = {token: max(p - rho * q, 0.0) for token, p, q in pairs}
    both = [(above[t], p) for t, p in zip(drew.tokens, drew.p, strict=True) if t in above]
    total, scaled = sum(a for a, _ in both), sum(p for _, p in both)
    if total < MIN_MASS:
        return
    for one, p in both:
        expect_close(p, one * scaled / total, where, "the last distribution, (p − ρ q)₊,")


def check_entropy(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check H. It is least if one unlisted token has all the rest, most if the rest is spread."""
    rows, found = event.rows, event.inputs["entropy"]
    least = sum(-p * math.log(p) for p in [*rows.p, rows.rest_p] if p > 0)
    most = least + rows.rest_p * math.log(max(rows.rest_tokens, 1))
    fits = least - TOLERANCE <= found <= most + TOLERANCE
    expect(fits, where, f"the entropy is {found!r} but should be {least!r} to {most!r}")


def check_top(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check the probability of the top token, which is listed."""
    expect_close(event.inputs["top"], max(event.rows.p), where, "the top token's p")


def check_rank(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check the rank: above it are listed tokens, and unlisted ones only if they can be."""
    p, rank = event.inputs["p"], event.inputs["rank"]
    above = sum(other > p for other in event.rows.p)
    hidden = event.rows.rest_tokens if event.rows.rest_p > p else 0
    fits = above + 1 <= rank <= above + 1 + hidden
    expect(fits, where, f"the rank is {rank!r} but should be {above + 1}")


def check_before(event: Judged, guesses: Sequence[Guess], played: Round, where: str) -> None:
    """Check the total score of the siblings that were tried earlier."""
    siblings = _siblings(event, guesses)
    earlier = siblings[: siblings.index(event.node)]
    scored = played.scored.p if played.scored else []
    tried: Mapping[int, float] = {guesses[n - 1].token: scored[n - 1] for n in earlier}
    expect_close(event.inputs["before"], math.fsum(tried.values()), where, "what was tried before")


def _siblings(event: Judged, guesses: Sequence[Guess]) -> list[int]:
    return children(guesses, guesses[event.node - 1].parent)


EXTRA_INPUTS: Mapping[str, InputCheck] = {
    "least": check_least,
    "rho": check_rho,
    "entropy": check_entropy,
    "top": check_top,
    "rank": check_rank,
    "before": check_before,
}
