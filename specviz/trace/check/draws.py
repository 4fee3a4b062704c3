"""Drawn tokens: u lies in the interval that was hit, and the interval is where it should be."""

from __future__ import annotations

import math
from collections.abc import Mapping

from specviz.trace.check.expectations import TOLERANCE, expect, expect_close, expect_probabilities
from specviz.trace.events import Drew, Interval


def check_interval(drawn: Interval, probability: float, where: str) -> None:
    """u lies in [lo, hi), whose width is the token's probability."""
    expect_probabilities([drawn.lo, drawn.hi], where, "the interval")
    expect(drawn.lo <= drawn.u < drawn.hi, where, "u lies outside the drawn interval")
    expect_close(drawn.hi - drawn.lo, probability, where, "the interval's width")


def check_begins(drawn: Interval, where: str) -> None:
    """All before it in the walk is at least as likely: it begins at 0 or behind one as wide."""
    behind = drawn.lo == 0.0 or drawn.lo >= drawn.hi - drawn.lo - TOLERANCE
    expect(behind, where, "the interval begins where no likelier token ends")


def check_lower(
    drawn: Interval, token: int, law: Mapping[int, float], rest: float, where: str
) -> None:
    """The interval's lower end: the mass of what stands before the token in the walk.

    law: listed tokens with their probabilities, `token` among them. rest: the mass of all others,
    which may stand before it only where they hold as much as it does.
    """
    before = math.fsum(v for t, v in law.items() if (-v, t) < (-law[token], token))
    hidden = rest if rest >= law[token] - TOLERANCE else 0.0
    fits = before - TOLERANCE <= drawn.lo <= before + hidden + TOLERANCE
    problem = f"the interval's lower end is {drawn.lo!r}, but {before!r} follows"
    expect(fits, where, problem if not hidden else f"{problem}, up to {before + hidden!r}")


def check_drew(drew: Drew, size: int, where: str) -> None:
    """The law is one, by falling probability, and the token's interval lies where it should.

    size: of the vocabulary.
    """
    inside = all(0 <= token < size for token in drew.tokens)
    expect(inside, where, "its law lists a token outside the vocabulary")
    whole = len(drew.tokens) + drew.rest_tokens == size
    expect(whole, where, "its law does not hold the whole vocabulary")
    at = drew.tokens.index(drew.token) if drew.token in drew.tokens else -1
    expect(at >= 0, where, "the drawn token is not in its law")
    expect(len(set(drew.tokens)) == len(drew.tokens), where, "its law lists a token twice")
    expect_probabilities([*drew.p, drew.rest_p], where, "the last law")
    expect_probabilities(drew.soft or [], where, "the last law's softmax")
    check_interval(drew.drawn, drew.p[at], where)
    expect_close(math.fsum([*drew.p, drew.rest_p]), 1.0, where, "the total of the last law")
    ordered = list(zip([-p for p in drew.p], drew.tokens, strict=True))
    expect(ordered == sorted(ordered), where, "the law is not by falling probability")
    # Where the token has listed ones below it, all above it are listed: the likeliest are.
    rest = drew.rest_p if at == len(drew.p) - 1 else 0.0
    listed = drew.p[:-1] if at == len(drew.p) - 1 and at else drew.p  # the likeliest
    most = drew.rest_tokens * min(listed) + TOLERANCE
    expect(drew.rest_p <= most, where, "the tokens that are not listed have too much probability")
    law = dict(zip(drew.tokens, drew.p, strict=True))
    check_lower(drew.drawn, drew.token, law, rest, where)
