"""Check that scores, rows, residuals and the final distribution agree with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain, pairwise

from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.expectations import (
    MIN_MASS,
    TOLERANCE,
    CheckFailed,
    expect,
    expect_close,
    expect_probabilities,
)
from specviz.trace.check.position import check_alpha, check_lower
from specviz.trace.events import Judged, Rows
from specviz.trace.rule_specs import AfterRejection


def check_scored(checked: CheckedRound) -> None:
    """Check that scores are probabilities, and that they agree with each node's top tokens."""
    scored, guesses, where = checked.scored, checked.guesses, checked.where
    expect(len(scored.p) == len(guesses), where, "it does not have a score for every guess")
    tops = len(scored.top) == len(guesses) + 1
    expect(tops, where, "it does not have the top tokens of every node")
    expect_probabilities([*scored.p, *(scored.soft or [])], where, "the list of scores")
    if scored.excluded is not None:
        counts = len(scored.excluded) == len(guesses) + 1 and min(scored.excluded) >= 0
        expect(counts, where, "it does not have a number of excluded tokens for every node")
    soft = scored.soft is not None and len(scored.soft) == len(guesses)
    greedy = checked.settings.sampling.greedy
    expect(soft == greedy, where, "it must have a softmax at temperature 0 and only there")
    for top in scored.top:
        expect_probabilities(
            [math.fsum(p for _, p in top), *(p for _, p in top)], where, "the list of top tokens"
        )
        falling = all(one >= other for (_, one), (_, other) in pairwise(top))
        expect(falling, where, "the top tokens are not in falling order of probability")
    for guess, p in zip(guesses, scored.p, strict=True):
        known = {int(token): chance for token, chance in scored.top[guess.parent]}
        if guess.token in known:
            expect_close(p, known[guess.token], where, f"the score of token {guess.token}")
        else:
            least = min(known.values(), default=0.0)
            problem = f"token {guess.token} should be among the top tokens"
            expect(p <= least + TOLERANCE, where, problem)


def check_top_tokens(checked: CheckedRound) -> None:
    """Check each node's top tokens: at least one, no duplicates, total at most 1 with guesses."""
    where, size = checked.where, checked.size
    for node, top in enumerate(checked.scored.top):
        pairs = all(len(pair) == 2 for pair in top)
        expect(bool(top) and pairs, where, f"the top tokens of node {node} are not pairs")
        tokens = [token for token, _ in top]
        inside = all(token == int(token) and 0 <= token < size for token in tokens)
        expect(inside, where, f"a top token of node {node} is outside the vocabulary")
        expect(len(set(tokens)) == len(top), where, f"node {node} lists a top token twice")
        known = {int(token): p for token, p in top} | checked.scores_after(node)
        expect_probabilities([math.fsum(known.values())], where, f"the total after node {node}")


def check_positions(checked: CheckedRound) -> None:
    """Check that a first sibling is judged by the target's own distribution, as it was scored."""
    spec = checked.plan.spec
    for parent, judged in positions(checked).items():
        where = checked.node(judged[0].node)
        expect_close(judged[0].inputs["p"], checked.scored.p[judged[0].node - 1], where, "p")
        check_listed_scores(judged[0].rows, parent, checked, where)
        if spec.reads_q and checked.drawn == "sampled":
            check_siblings_q(judged[0].rows, parent, checked, where)
        if spec.has_alpha:
            check_alpha(judged, checked, where)
        else:
            silent = all(event.alpha is None and event.tries is None for event in judged)
            expect(silent, where, "it has an α, which this rule does not give")


def positions(checked: CheckedRound) -> dict[int, list[Judged]]:
    """Return the verdicts grouped by the parents of the guesses, in order."""
    found: dict[int, list[Judged]] = {}
    for event in checked.played.judged:
        found.setdefault(checked.guesses[event.node - 1].parent, []).append(event)
    return found


def check_listed_scores(rows: Rows, parent: int, checked: CheckedRound, where: str) -> None:
    """Check that the listed values of a first sibling agree with the target's scores."""
    listed = dict(zip(rows.tokens, rows.p, strict=True))
    top = {int(token): p for token, p in checked.scored.top[parent]}
    below = checked.children(parent)  # independent siblings may have the same token
    scores = [(checked.guesses[node - 1].token, checked.scored.p[node - 1]) for node in below]
    for token, p in [*top.items(), *scores]:
        if token in listed:
            expect_close(p, listed[token], where, f"the score of token {token}")
    least = min(top.values(), default=0.0) + TOLERANCE
    hidden = next((t for t, p in listed.items() if t not in top and p > least), None)
    expect(hidden is None, where, f"token {hidden} should be among the top tokens")


def check_siblings_q(rows: Rows, parent: int, checked: CheckedRound, where: str) -> None:
    """Check that independent siblings were all sampled from the same q."""
    probs = dict(zip(rows.tokens, rows.q or [], strict=True))
    for node in checked.children(parent):
        guess = checked.guesses[node - 1]
        if guess.token in probs and guess.drawn is not None and guess.q is not None:
            expect_close(guess.q, probs[guess.token], where, f"q of node {node}")
            check_lower(guess.drawn, guess.token, probs, rows.rest_q, f"{where}, drawing {node}")


def check_later_siblings(checked: CheckedRound) -> None:
    """Check that a later sibling is judged by the residual after the rejection before it."""
    spec = checked.plan.spec
    tried = [pairwise(judged) for judged in positions(checked).values()]
    for before, event in chain.from_iterable(tried):
        if before.accepted or spec.temperature_zero:
            continue
        where = checked.node(event.node)
        rejected = checked.guesses[before.node - 1].token
        left = residual_after(before.rows, rejected)
        if spec.after_rejection is not AfterRejection.RESIDUAL:
            left = dict(zip(before.rows.tokens, before.rows.p, strict=True))
        for token, p in zip(event.rows.tokens, event.rows.p, strict=True):
            if token in left:
                expect_close(p, left[token], where, f"what was left of p at token {token}")
        if event.rows.q is not None and before.rows.q is not None:
            known = dict(zip(before.rows.tokens, before.rows.q, strict=True))
            masked = None if checked.drawn == "sampled" else rejected
            check_later_q(event.rows, known, masked, where)


def check_later_q(rows: Rows, known: Mapping[int, float], masked: int | None, where: str) -> None:
    """Check q of a later sibling: unchanged, or without the token that was drawn before."""
    scale = 1.0 if masked is None else 1.0 - known[masked]
    for token, q in zip(rows.tokens, rows.q or [], strict=True):
        if token in known and scale > MIN_MASS:
            expect_close(q, 0.0 if token == masked else known[token] / scale, where, "q")


def residual_after(rows: Rows, tried: int) -> dict[int, float]:
    """Return (p − q)₊, scaled to sum to 1, at the listed tokens after `tried` was rejected.

    For a point mass, only the rejected token is removed. The result is empty if the residual is no
    larger than rounding errors.
    """
    q = rows.q or [1.0 if token == tried else 0.0 for token in rows.tokens]
    if rows.residual < MIN_MASS:
        return {}
    above = (max(a - b, 0.0) / rows.residual for a, b in zip(rows.claimed, q, strict=True))
    return dict(zip(rows.tokens, above, strict=True))


def check_final_distribution(checked: CheckedRound) -> None:
    """Check that the last token's distribution is the last residual, or the target's own."""
    drew, spec, where = checked.played.drew, checked.plan.spec, checked.where
    if drew is None:
        return
    known = {int(token): p for token, p in checked.scored.top[drew.parent]}
    if spec.after_rejection is AfterRejection.TOP and drew.kind == "bonus":
        known = top_alone(known)
    recovered = drew.kind == "recovered"
    has_p = drew.at_p is not None
    expect(has_p == recovered, where, "at_p must be given exactly after a rejection")
    with_q = recovered and checked.has_q
    expect((drew.at_q is not None) == with_q, where, "at_q must be given exactly if there is a q")
    if recovered:
        last = last_rejected(checked, drew.parent)
        check_rejected(last.rows, drew.token, drew.at_p, drew.at_q, where)
        if not spec.temperature_zero:
            leaves = spec.after_rejection
            known = final_after_rejection(last, checked.guesses[last.node - 1].token, leaves)
            if leaves is AfterRejection.RESIDUAL and known and drew.at_p is not None:
                left = max(last.rows.share * drew.at_p - (drew.at_q or 0.0), 0.0)
                known |= {drew.token: known.get(drew.token, left / last.rows.residual)}
    for token, p in zip(drew.tokens, drew.p, strict=True):
        if token in known:
            expect_close(p, known[token], where, f"the last distribution at token {token}")


def last_rejected(checked: CheckedRound, parent: int) -> Judged:
    """Return the verdict on the last guess under `parent`, whose residual is sampled at the end."""
    last, where = max(checked.children(parent), default=0), checked.where
    found = next((event for event in checked.played.judged if event.node == last), None)
    if found is None:
        raise CheckFailed(f"{where}: the last token is recovered, but nothing was rejected.")
    return found


def final_after_rejection(
    last: Judged, tried: int, after_rejection: AfterRejection
) -> dict[int, float]:
    """Return the last token's distribution after a rejection, at the listed tokens."""
    rows = last.rows
    probs = dict(zip(rows.tokens, rows.p, strict=True))
    match after_rejection:
        case AfterRejection.RESIDUAL:
            return residual_after(rows, tried)
        case AfterRejection.ITSELF:
            return probs
        case AfterRejection.TOP:
            return top_alone(probs)
        case AfterRejection.BEYOND:
            return {}  # the total of this one is not stored: see `extra_inputs.check_beyond`


def top_alone(probs: Mapping[int, float]) -> dict[int, float]:
    """Return a one-hot distribution on the most probable token, ties by id."""
    top = min(probs, key=lambda token: (-probs[token], token), default=None)
    return {token: float(token == top) for token in probs}


def check_rejected(rows: Rows, token: int, p: float | None, q: float | None, where: str) -> None:
    """Check the recovered token's p and q in the distributions of the last rejection."""
    given = [value for value in (p, q) if value is not None]
    expect_probabilities(given, where, "the rejected distribution")
    if token in rows.tokens:
        at = rows.tokens.index(token)
        expect_close(math.nan if p is None else p, rows.p[at], where, "p of the rejection")
        if q is not None and rows.q is not None:
            expect_close(q, rows.q[at], where, "q of the rejection")
