"""Check one round: order of the verdicts, random numbers, and the tokens that it added."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specviz.settings.chance import Chance
from specviz.trace.check.alpha import children
from specviz.trace.check.distributions import (
    check_final_distribution,
    check_later_siblings,
    check_positions,
    check_scored,
    check_top_tokens,
    has_q,
)
from specviz.trace.check.expectations import expect, expect_close, expect_equal
from specviz.trace.check.extra_inputs import check_extra_inputs
from specviz.trace.check.greedy import check_soft
from specviz.trace.check.header import RunSpec, check_drawn
from specviz.trace.check.leaf_first import check_leaf_first
from specviz.trace.check.rows import (
    check_begins,
    check_drew,
    check_interval,
    check_lower,
    check_rows,
)
from specviz.trace.check.support import check_supports
from specviz.trace.events import Guess, Header, Judged, Proposed, Round
from specviz.trace.metrics import accepted_path
from specviz.trace.thresholds import THRESHOLDS


def check_round(played: Round, text: Sequence[int], plan: RunSpec, header: Header) -> None:
    """Check one round. `text` is all tokens before it. Raises CheckFailed."""
    where, size = f"Round {played.number}", header.vocab_size
    chance = plan.settings.chance(played.number)
    proposed = played.proposed
    guesses = proposed.guesses if proposed else []
    if proposed:
        expect(proposed.root == text[-1], where, "the root is not the last token of the text")
        check_drawn(proposed, plan, where)
        check_guesses(proposed, chance)
    if played.scored:
        check_scored(played.scored, guesses, plan.settings.sampling.greedy, where)
        check_top_tokens(played.scored, guesses, size, where)
    for event in played.judged:
        here = f"{where}, node {event.node}"
        expect(1 <= event.node <= len(guesses), here, "there is no such node")
        check_judged(event, guesses[event.node - 1], plan, has_q(played, plan), here)
        check_rows(event.rows, guesses[event.node - 1].token, size, here)
    check_extra_inputs(played, guesses, where)
    check_supports(played, guesses, plan, header, where)
    check_soft(played, guesses, where)
    check_positions(played, guesses, plan)
    check_later_siblings(played, guesses, plan)
    check_final_distribution(played, guesses, plan, where)
    if plan.spec.leaf_first:
        check_leaf_first(played, guesses, plan.spec.name, where)
    else:
        check_walk(played, guesses, where)
    check_end(played, plan, size, where)
    for node, guess in enumerate(guesses, 1):
        if guess.drawn:
            check_begins(guess.drawn, f"{where}, node {node}")


def check_guesses(proposed: Proposed, chance: Chance) -> None:
    """Check the random number of every node, and the draws of sampled ones."""
    for node, guess in enumerate(proposed.guesses, 1):
        where = f"Round {proposed.round}, node {node}"
        expect_equal(guess.u, chance.judge(node), where, "u")
        sampled = proposed.drawn != "point-mass"
        with_q = guess.q is not None
        expect(with_q == sampled, where, "q must be given exactly if the guess was sampled")
        drawn = guess.drawn is not None
        expect(drawn == sampled, where, "a draw must be given exactly if the guess was sampled")
        if guess.drawn and guess.q is not None:
            expect_equal(guess.drawn.u, chance.draft(node), where, "the draw's u")
            check_interval(guess.drawn, guess.q, where)


def check_judged(event: Judged, guess: Guess, plan: RunSpec, with_q: bool, where: str) -> None:
    """Check one decision: its threshold against its inputs, and its inputs against the rows.

    Args:
        event: The decision.
        guess: The guess that was judged.
        plan: What the run is checked against.
        with_q: Whether the round's verdicts use a q.
        where: The node, for messages.
    """
    rows = event.rows
    inputs = {"p", "q"} if with_q else {"p"}
    inputs |= plan.spec.extra_inputs | plan.parameters.keys()
    if plan.spec.leaf_first:  # `check_leaf_first` says which of the two it has
        inputs |= {"reach", "left"} & event.inputs.keys()
    expect(set(event.inputs) == inputs, where, f"the rule's inputs should be {sorted(inputs)}")
    from_below = rows.reach is not None
    problem = "a reach must be given exactly if the rule judges from the leaf up"
    expect(from_below == plan.spec.leaf_first, where, problem)
    as_set = all(event.inputs[name] == value for name, value in plan.parameters.items())
    expect(as_set, where, "the rule's parameters are not those of the settings")
    problem = "the rows must have q exactly if the rule reads it"
    expect((rows.q is not None) == with_q, where, problem)
    expect_equal(event.threshold, THRESHOLDS[plan.spec.name](event.inputs), where, "the threshold")
    expect_equal(event.u, guess.u, where, "u")
    soft = rows.soft is not None
    greedy = plan.settings.sampling.greedy
    expect(soft == greedy, where, "it must have a softmax at temperature 0 and only there")
    expect(guess.token in rows.tokens, where, "the judged token is not in the rows")
    at = rows.tokens.index(guess.token)
    expect_close(event.inputs["p"], rows.p[at], where, "p")
    if rows.q is not None:
        expect_close(event.inputs["q"], rows.q[at], where, "q")
        expect_close(
            event.inputs["q"], math.nan if guess.q is None else guess.q, where, "the guess's q"
        )
        if guess.drawn:
            listed_q = dict(zip(rows.tokens, rows.q, strict=True))
            check_lower(guess.drawn, guess.token, listed_q, rows.rest_q, where)


def check_walk(played: Round, guesses: Sequence[Guess], where: str) -> None:
    """Check that nodes were judged from the root down, and siblings in order."""
    left = children(guesses, 0)
    for event in played.judged:
        in_order = bool(left) and left[0] == event.node
        expect(in_order, where, f"node {event.node} is judged in the wrong order")
        left = left[1:]
        if event.accepted:
            left = children(guesses, event.node)
    expect(not left, where, "some candidates were not judged")


def check_end(played: Round, plan: RunSpec, size: int, where: str) -> None:
    """Check the last token: its draw, its kind, and that the round added the accepted tokens."""
    guesses = played.proposed.guesses if played.proposed else []
    accepted = accepted_path(played)
    emitted = [guesses[node - 1].token for node in accepted]
    drew = played.drew
    ended = bool(emitted) and emitted[-1] in plan.eos
    expect((drew is None) == ended, where, "a last token must be drawn unless the text ended")
    if drew:
        end = accepted[-1] if accepted else 0
        problem = f"the parent of the last token is {drew.parent} but should be {end}"
        expect(drew.parent == end, where, problem)
        kind = "recovered" if children(guesses, end) else "bonus"
        kind = kind if played.judged else "plain"
        expect(drew.kind == kind, where, f"the last token is {kind}, not {drew.kind}")
        u = plan.settings.chance(played.number).final()
        expect_equal(drew.drawn.u, u, where, "the draw's u")
        check_drew(drew, size, where)
        emitted.append(drew.token)
    committed = played.committed.tokens if played.committed else []
    expect(committed == emitted, where, "the committed tokens are not the accepted ones")
