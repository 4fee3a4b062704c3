"""Rows are laws: values from 0 to 1, totals of 1, and sums that the listed values allow."""

from __future__ import annotations

import math

from specviz.trace.check.expectations import TOLERANCE, expect, expect_close, expect_probabilities
from specviz.trace.events import Rows


def check_rows(rows: Rows, token: int, size: int, where: str) -> None:
    """One decision's rows. token: the one that is judged. size: of the vocabulary."""
    q = rows.q or [1.0 if other == token else 0.0 for other in rows.tokens]
    check_values(rows, q, where)
    expect(len(set(rows.tokens)) == len(rows.tokens), where, "the rows list a token twice")
    inside = all(0 <= other < size for other in rows.tokens)
    expect(inside, where, "the rows list a token outside the vocabulary")
    same_size = len(rows.tokens) + rest_tokens(rows, where) == size
    expect(same_size, where, "the rows do not hold the whole vocabulary")
    check_totals(rows, q, where)


def rest_tokens(rows: Rows, where: str) -> int:
    """How many tokens are not listed; none hold nothing."""
    masses = (rows.rest_p, rows.rest_q, rows.rest_both, rows.rest_residual, rows.rest_soft)
    empty = rows.rest_tokens > 0 or not any(masses)
    expect(empty, where, "the rows give mass to tokens that are not there")
    return rows.rest_tokens


def check_values(rows: Rows, q: list[float], where: str) -> None:
    """Every value is a probability."""
    expect_probabilities([*rows.p, rows.rest_p], where, "p")
    expect_probabilities([*q, rows.rest_q], where, "q")
    expect_probabilities([*(rows.soft or []), rows.rest_soft], where, "the softmax")
    masses = [rows.rest_both, rows.rest_residual, rows.overlap, rows.residual, rows.share]
    expect_probabilities(masses, where, "a mass")


def check_totals(rows: Rows, q: list[float], where: str) -> None:
    """Totals: p and q are 1; overlap and residual are what listed and lumped parts give.

    Of p counts what can be claimed.
    """
    share = rows.share
    expect_close(math.fsum([*rows.p, rows.rest_p]), 1.0, where, "the total of p")
    expect_close(math.fsum([*q, rows.rest_q]), 1.0, where, "the total of q")
    expect(rows.soft is not None or not rows.rest_soft, where, "a rest of no softmax")
    if rows.soft is not None:
        expect(len(rows.soft) == len(rows.tokens), where, "a softmax for every listed token")
        expect_close(
            math.fsum([*rows.soft, rows.rest_soft]), 1.0, where, "the total of the softmax"
        )
    both = math.fsum([*map(min, rows.claimed, q), rows.rest_both])
    expect_close(rows.overlap, both, where, "the overlap")
    above = math.fsum([*(max(a - b, 0.0) for a, b in zip(rows.claimed, q, strict=True))])
    expect_close(rows.residual, above + rows.rest_residual, where, "the residual's mass")
    most = min(share * rows.rest_p, rows.rest_q) + TOLERANCE
    expect(rows.rest_both <= most, where, "all others share more than they have")
    # max(p − q, 0) = p − min(p, q), token by token, so of the sums too
    expect_close(
        rows.rest_residual,
        share * rows.rest_p - rows.rest_both,
        where,
        "the residual of all others",
    )
