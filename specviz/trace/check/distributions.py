"""Laws that follow from each other: scores, rows, what a rejection leaves, and the last draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

from specviz.trace.check.alpha import check_alpha, children
from specviz.trace.check.expectations import MIN_MASS, TOLERANCE, CheckFailed, expect_probabilities, expect_close, expect
from specviz.trace.check.draws import check_lower
from specviz.trace.check.header import RunSpec
from specviz.trace.events import Guess, Judged, Round, Rows, Scored
from specviz.trace.rule_specs import AfterRejection


def check_scored(scored: Scored, guesses: Sequence[Guess], greedy: bool, where: str) -> None:
    """Scores are probabilities, and the likeliest tokens of every node agree with them."""
    expect(len(scored.p) == len(guesses), where, "a score for every guess")
    expect(len(scored.top) == len(guesses) + 1, where, "the likeliest tokens of every node")
    expect_probabilities([*scored.p, *(scored.soft or [])], where, "the scores")
    soft = scored.soft is not None and len(scored.soft) == len(guesses)
    expect(soft == greedy, where, "the softmax is kept at temperature 0 only")
    for top in scored.top:
        expect_probabilities([math.fsum(p for _, p in top), *(p for _, p in top)], where, "the likeliest tokens")
        falling = all(one >= other for (_, one), (_, other) in pairwise(top))
        expect(falling, where, "the likeliest tokens are not by falling probability")
    for guess, p in zip(guesses, scored.p, strict=True):
        known = {int(token): chance for token, chance in scored.top[guess.parent]}
        if guess.token in known:
            expect_close(p, known[guess.token], where, f"the score of token {guess.token}")
        else:
            least = min(known.values(), default=0.0)
            expect(p <= least + TOLERANCE, where, f"token {guess.token} is among the likeliest")


def check_likeliest(scored: Scored, guesses: Sequence[Guess], size: int, where: str) -> None:
    """The likeliest tokens of every node: some, each once, and none that a guess exceeds.

    With the guesses under it they hold no more than 1. size: of the vocabulary.
    """
    for node, top in enumerate(scored.top):
        pairs = all(len(pair) == 2 for pair in top)
        expect(bool(top) and pairs, where, f"the likeliest tokens of node {node} are no pairs")
        tokens = [token for token, _ in top]
        inside = all(token == int(token) and 0 <= token < size for token in tokens)
        expect(inside, where, f"a likeliest token of node {node} lies outside the vocabulary")
        expect(len(set(tokens)) == len(top), where, f"node {node} lists a likeliest token twice")
        known = {int(token): p for token, p in top}
        known |= {guesses[n - 1].token: scored.p[n - 1] for n in children(guesses, node)}
        expect_probabilities([math.fsum(known.values())], where, f"what follows node {node}")


def check_positions(played: Round, guesses: Sequence[Guess], plan: RunSpec) -> None:
    """A first sibling is judged by the target's own law; what was scored is what was judged."""
    if played.scored is None:
        return
    replaced = played.proposed is not None and played.proposed.drawn == "sampled"
    for parent, judged in positions(played, guesses).items():
        where = f"Round {played.number}, node {judged[0].node}"
        expect_close(judged[0].inputs["p"], played.scored.p[judged[0].node - 1], where, "p")
        check_listed_scores(judged[0].rows, parent, played.scored, guesses, where)
        if plan.spec.reads_q and replaced:
            check_siblings_q(judged[0].rows, parent, guesses, where)
        if plan.spec.has_alpha:
            check_alpha(judged, played.scored.p, guesses, replaced, where)
        else:
            silent = all(event.alpha is None and event.tries is None for event in judged)
            expect(silent, where, "α does not follow under this rule")


def positions(played: Round, guesses: Sequence[Guess]) -> dict[int, list[Judged]]:
    """The verdicts by the node that their guesses stand under, in order."""
    found: dict[int, list[Judged]] = {}
    for event in played.judged:
        found.setdefault(guesses[event.node - 1].parent, []).append(event)
    return found


def check_listed_scores(
    rows: Rows, parent: int, scored: Scored, guesses: Sequence[Guess], where: str
) -> None:
    """The rows of a first sibling hold the target's law: wherever else it stands, it agrees."""
    listed = dict(zip(rows.tokens, rows.p, strict=True))
    elsewhere = [(int(token), p) for token, p in scored.top[parent]]
    elsewhere += [(guesses[n - 1].token, scored.p[n - 1]) for n in children(guesses, parent)]
    for token, p in elsewhere:
        if token in listed:
            expect_close(p, listed[token], where, f"the score of token {token}")
    top = dict(elsewhere[: len(scored.top[parent])])
    least = min(top.values(), default=0.0) + TOLERANCE
    hidden = next((t for t, p in listed.items() if t not in top and p > least), None)
    expect(hidden is None, where, f"token {hidden} is among the likeliest")


def check_siblings_q(rows: Rows, parent: int, guesses: Sequence[Guess], where: str) -> None:
    """All siblings that were drawn independently were drawn from the first one's q."""
    law = dict(zip(rows.tokens, rows.q or [], strict=True))
    for node in children(guesses, parent):
        guess = guesses[node - 1]
        if guess.token in law and guess.drawn is not None and guess.q is not None:
            expect_close(guess.q, law[guess.token], where, f"q of node {node}")
            check_lower(guess.drawn, guess.token, law, rows.rest_q, f"{where}, drawing {node}")


def check_later_siblings(played: Round, guesses: Sequence[Guess], plan: RunSpec) -> None:
    """A later sibling is judged by what the rejection before it left of p (and of q)."""
    tried = [pairwise(judged) for judged in positions(played, guesses).values()]
    for before, event in chain.from_iterable(tried):
        if before.accepted or plan.spec.temperature_zero:
            continue
        where = f"Round {played.number}, node {event.node}"
        fell = guesses[before.node - 1].token
        left = residual_after(before.rows, fell)
        if plan.spec.after_rejection is not AfterRejection.RESIDUAL:
            left = dict(zip(before.rows.tokens, before.rows.p, strict=True))
        for token, p in zip(event.rows.tokens, event.rows.p, strict=True):
            if token in left:
                expect_close(p, left[token], where, f"what was left of p at token {token}")
        if event.rows.q is not None and before.rows.q is not None:
            known = dict(zip(before.rows.tokens, before.rows.q, strict=True))
            masked = played.proposed is not None and played.proposed.drawn != "sampled"
            check_later_q(event.rows, known, fell if masked else None, where)


def check_later_q(rows: Rows, known: Mapping[int, float], masked: int | None, where: str) -> None:
    """q of a later sibling: as before, or without the token drawn before it."""
    scale = 1.0 if masked is None else 1.0 - known[masked]
    for token, q in zip(rows.tokens, rows.q or [], strict=True):
        if token in known and scale > MIN_MASS:
            expect_close(q, 0.0 if token == masked else known[token] / scale, where, "q")


def residual_after(rows: Rows, tried: int) -> dict[int, float]:
    """What a rejection of `tried` leaves of p at the listed tokens: (p − q)₊ scaled to 1.

    Of p what can be claimed. A point mass takes its own token out and nothing else. Empty where
    rounding is all there is.
    """
    q = rows.q or [1.0 if token == tried else 0.0 for token in rows.tokens]
    if rows.residual < MIN_MASS:
        return {}
    above = (max(a - b, 0.0) / rows.residual for a, b in zip(rows.claimed, q, strict=True))
    return dict(zip(rows.tokens, above, strict=True))


def check_final_distribution(played: Round, guesses: Sequence[Guess], plan: RunSpec, where: str) -> None:
    """The last token's law: what the last rejection left, or the target's own."""
    drew, scored = played.drew, played.scored
    if drew is None or scored is None:
        return
    known = {int(token): p for token, p in scored.top[drew.parent]}
    if plan.spec.after_rejection is AfterRejection.TOP and drew.kind == "bonus":
        known = top_alone(known)
    recovered = drew.kind == "recovered"
    expect((drew.at_p is not None) == recovered, where, "p in the rejected law")
    with_q = recovered and has_q(played, plan)
    expect((drew.at_q is not None) == with_q, where, "q in the rejected law")
    if recovered:
        last = last_rejected(played, guesses, drew.parent, where)
        check_rejected(last.rows, drew.token, drew.at_p, drew.at_q, where)
        if not plan.spec.temperature_zero:
            leaves = plan.spec.after_rejection
            known = final_after_rejection(last, guesses[last.node - 1].token, leaves)
            if leaves is AfterRejection.RESIDUAL and known and drew.at_p is not None:
                left = max(last.rows.share * drew.at_p - (drew.at_q or 0.0), 0.0)
                known |= {drew.token: known.get(drew.token, left / last.rows.residual)}
    for token, p in zip(drew.tokens, drew.p, strict=True):
        if token in known:
            expect_close(p, known[token], where, f"the last law at token {token}")


def has_q(played: Round, plan: RunSpec) -> bool:
    """Whether the round's verdicts rest on a q: the rule reads it, and the guesses have one."""
    fixed = played.proposed is not None and played.proposed.drawn == "point-mass"
    return plan.spec.reads_q and not fixed


def last_rejected(played: Round, guesses: Sequence[Guess], parent: int, where: str) -> Judged:
    """The verdict on the last guess under `parent`, whose fall left the last token's law."""
    last = max(children(guesses, parent), default=0)
    found = next((event for event in played.judged if event.node == last), None)
    if found is None:
        raise CheckFailed(f"{where}: nothing fell where the last token was recovered.")
    return found


def final_after_rejection(last: Judged, tried: int, leaves: AfterRejection) -> dict[int, float]:
    """What the last rejection leaves for the round's last token, at the listed tokens."""
    rows = last.rows
    law = dict(zip(rows.tokens, rows.p, strict=True))
    match leaves:
        case AfterRejection.RESIDUAL:
            return residual_after(rows, tried)
        case AfterRejection.ITSELF:
            return law
        case AfterRejection.TOP:
            return top_alone(law)
        case AfterRejection.BEYOND:
            return {}  # its total is not kept: see `facts.check_beyond`


def top_alone(law: Mapping[int, float]) -> dict[int, float]:
    """All of it on the likeliest token, of equals the first by id."""
    top = min(law, key=lambda token: (-law[token], token), default=None)
    return {token: float(token == top) for token in law}


def check_rejected(rows: Rows, token: int, p: float | None, q: float | None, where: str) -> None:
    """p and q of the recovered token are those of the law that was rejected under."""
    expect_probabilities([value for value in (p, q) if value is not None], where, "the rejected law")
    if token in rows.tokens:
        at = rows.tokens.index(token)
        expect_close(math.nan if p is None else p, rows.p[at], where, "p in the rejected law")
        if q is not None and rows.q is not None:
            expect_close(q, rows.q[at], where, "q in the rejected law")
