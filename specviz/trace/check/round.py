"""Check one round: thresholds and their inputs, random numbers, order, and the added tokens.

A round that was judged from the leaf up is recomputed from scores, draws, random numbers, and the
stored sum of the residual at each position. That sum is over the whole vocabulary, so it cannot be
recomputed from the few listed tokens (`position` compares it with them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.distributions import (
    check_final_distribution,
    check_later_siblings,
    check_positions,
    check_scored,
    check_top_tokens,
)
from specviz.trace.check.expectations import (
    MIN_MASS,
    TOLERANCE,
    CheckFailed,
    expect,
    expect_close,
    expect_equal,
)
from specviz.trace.check.header import check_drawn
from specviz.trace.check.position import (
    check_begins,
    check_drew,
    check_interval,
    check_lower,
    check_rows,
)
from specviz.trace.check.sampling import check_soft, check_supports
from specviz.trace.events import Drew, Judged, Rows
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import (
    THRESHOLDS,
    fly_own_threshold,
    leaf_first_threshold,
    speculative_threshold,
)

InputCheck = Callable[[Judged, CheckedRound, str], None]


def check_extra_inputs(checked: CheckedRound) -> None:
    """Check every extra input of every verdict of a round."""
    for event in checked.played.judged:
        for name, check in EXTRA_INPUTS.items():
            if name in event.inputs:
                check(event, checked, checked.node(event.node))


def check_least(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check that the smallest q/p of all tokens is not above the q/p of any listed token."""
    least, rows = event.inputs["least"], event.rows
    listed = zip(rows.p, rows.q or [], strict=True)
    fits = least >= 0.0 and all(least * p <= q + TOLERANCE for p, q in listed)
    expect(fits, where, f"the least q/p is {least!r}, but a listed token has less")


def check_rho(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check that ρ is between 1 and the number of siblings, and check the residual after them."""
    rho, siblings = event.inputs["rho"], checked.siblings(event.node)
    fits = 1.0 <= rho <= len(siblings) + TOLERANCE
    expect(fits, where, f"ρ is {rho!r}, but must be between 1 and {len(siblings)}")
    drew = checked.played.drew
    if drew is not None and drew.kind == "recovered" and event is checked.played.judged[-1]:
        check_beyond(event.rows, rho, drew, where)


def check_beyond(rows: Rows, rho: float, drew: Drew, where: str) -> None:
    """Check that the last token's distribution is proportional to (p − ρ q)₊, where listed."""
    pairs = zip(rows.tokens, rows.p, rows.q or [], strict=True)
    above = {token: max(p - rho * q, 0.0) for token, p, q in pairs}
    both = [(above[t], p) for t, p in zip(drew.tokens, drew.p, strict=True) if t in above]
    total, scaled = sum(a for a, _ in both), sum(p for _, p in both)
    if total < MIN_MASS:
        return
    for one, p in both:
        expect_close(p, one * scaled / total, where, "the last distribution, (p − ρ q)₊,")


def check_entropy(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check that the entropy H is possible, however the unlisted mass is distributed."""
    rows, found = event.rows, event.inputs["entropy"]
    least = sum(-p * math.log(p) for p in [*rows.p, rows.rest_p] if p > 0)
    most = least + rows.rest_p * math.log(max(rows.rest_tokens, 1))
    fits = least - TOLERANCE <= found <= most + TOLERANCE
    expect(fits, where, f"the entropy is {found!r} but should be {least!r} to {most!r}")


def check_top(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check the probability of the top token, which is always listed."""
    expect_close(event.inputs["top"], max(event.rows.p), where, "the top token's p")


def check_rank(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check the rank from the listed tokens, and from how many unlisted ones can be above it."""
    p, rank = event.inputs["p"], event.inputs["rank"]
    above = sum(other > p for other in event.rows.p)
    hidden = event.rows.rest_tokens if event.rows.rest_p > p else 0
    fits = above + 1 <= rank <= above + 1 + hidden
    expect(fits, where, f"the rank is {rank!r} but should be {above + 1}")


def check_before(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check the total score of the siblings that were tested before."""
    siblings = checked.siblings(event.node)
    earlier = siblings[: siblings.index(event.node)]
    tried = {checked.guesses[n - 1].token: checked.scored.p[n - 1] for n in earlier}
    expect_close(event.inputs["before"], math.fsum(tried.values()), where, "what was tried before")


def check_top_entropy(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check the entropy of the three most probable tokens, which are listed."""
    top = sorted(event.rows.p, reverse=True)[:3]
    found = sum(-p * math.log(p) for p in top if p > 0)
    expect_close(event.inputs["top_entropy"], found, where, "the entropy of the top tokens")


def check_following(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check the number of next guesses that pass; it is only bounded after a rejection."""
    found, window = event.inputs["following"], event.inputs["window"]
    most = min(int(window), len(checked.guesses) - event.node)
    later = [other for other in checked.played.judged if other.node > event.node][:most]
    passed = [other.u < fly_own_threshold(other.inputs) for other in later]
    least = next((at for at, passes in enumerate(passed) if not passes), len(passed))
    if event.accepted:
        expect_equal(found, float(least), where, "the number of following guesses that pass")
    expect(0 <= found <= most and found == int(found), where, f"following is {found!r}")


EXTRA_INPUTS: Mapping[str, InputCheck] = {
    "least": check_least,
    "rho": check_rho,
    "entropy": check_entropy,
    "top": check_top,
    "rank": check_rank,
    "before": check_before,
    "top_entropy": check_top_entropy,
    "following": check_following,
}


def check_leaf_first(checked: CheckedRound) -> None:
    """Repeat the traversal of `verification.leaf_first` from what the trace stores."""
    visit = _Visit(checked)
    visit.below(0, 1.0)
    complete = visit.at == len(checked.played.judged)
    problem = "guesses were judged after one was accepted, or in the wrong order"
    expect(complete, checked.where, problem)


@dataclass
class _Visit:
    # One traversal of the tree, as in `verification.leaf_first`; at: index of the next verdict.
    round: CheckedRound
    at: int = 0
    accepted: bool = False

    def below(self, node: int, reach: float) -> dict[str, float]:
        # Returns the inputs of the node's own threshold, after all these guesses were rejected.
        inputs = {"reach": reach}
        siblings = self.round.children(node)
        left = [self.round.scored.p[child - 1] for child in siblings]  # reduced by rejections
        for index, child in enumerate(siblings):
            q = self._given(siblings, index)
            event = self._try(child, reach, left[index], q[index])
            if self.accepted or event is None:
                return inputs
            residual = event.rows.residual
            inputs = {"reach": reach, "left": residual}
            left = [rest(reach * p, given, residual) for p, given in zip(left, q, strict=True)]
            reach = leaf_first_threshold(inputs) if math.isfinite(reach) else math.nan
        return inputs

    def _try(self, child: int, reach: float, p: float, q: float) -> Judged | None:
        own = (
            speculative_threshold({"p": reach * p, "q": q})
            if math.isfinite(reach * p)
            else math.nan
        )
        inputs = self.below(child, own)
        if self.accepted:
            return None
        event = self._next(child)
        here = self.round.node(child)
        agree(event.rows.share, reach, here, "the reach of its position")
        names = set(event.inputs) & {"reach", "left"}
        expect(set(inputs) == names, here, f"its inputs should be {sorted(inputs)}")
        for name, value in inputs.items():
            agree(event.inputs[name], value, here, f"its {name!r}")
        self.accepted = event.accepted
        return event

    def _next(self, child: int) -> Judged:
        judged = self.round.played.judged
        found = judged[self.at] if self.at < len(judged) else None
        if found is None or found.node != child:
            other = "nothing" if found is None else f"node {found.node}"
            raise CheckFailed(f"{self.round.where}: node {child} is next, but {other} is judged.")
        self.at += 1
        return found

    def _given(self, siblings: Sequence[int], first: int) -> list[float]:
        # Without replacement, q of a later sibling was stored relative to what the earlier ones
        # left.
        found = [0.0] * len(siblings)
        guesses = [self.round.guesses[node - 1] for node in siblings]
        scale = 1.0
        for at in range(first, len(siblings)):
            own = guesses[at].q
            if own is None:
                found[at] = float(guesses[at].token == guesses[first].token)
                continue
            found[at] = own * scale
            scale *= 1.0 - own if self.round.drawn == "without-replacement" else 1.0
        return found


def rest(claimed: float, q: float, residual: float) -> float:
    """Return p of a token after a rejection; NaN if the residual is only rounding."""
    return max(claimed - q, 0.0) / residual if residual >= MIN_MASS else math.nan


def agree(found: float, expected: float, where: str, what: str) -> None:
    """Raise CheckFailed unless a number is as expected; an unknown number (NaN) always passes."""
    if not math.isnan(expected):
        expect_close(found, expected, where, what)


def check_round(checked: CheckedRound) -> None:
    """Check one round."""
    played, guesses, text = checked.played, checked.guesses, checked.text
    if played.proposed:
        root = played.proposed.root == text[-1]
        expect(root, checked.where, "the root is not the last token of the text")
        check_drawn(played.proposed, checked.plan, checked.where)
        check_guesses(checked)
    check_scored(checked)
    check_top_tokens(checked)
    for event in played.judged:
        here = checked.node(event.node)
        expect(1 <= event.node <= len(guesses), here, "there is no such node")
        check_judged(event, checked, here)
        check_rows(event.rows, guesses[event.node - 1].token, checked.size, here)
    check_extra_inputs(checked)
    check_supports(checked)
    check_soft(checked)
    check_positions(checked)
    check_later_siblings(checked)
    check_final_distribution(checked)
    check_verdict_order(checked)
    check_end(checked)
    for node, guess in enumerate(guesses, 1):
        if guess.drawn:
            check_begins(guess.drawn, checked.node(node))


def check_verdict_order(checked: CheckedRound) -> None:
    """Check the shape of the draft, and that its guesses were judged in the rule's order."""
    spec, guesses = checked.plan.spec, checked.guesses
    chain = len({guess.parent for guess in guesses}) == len(guesses)
    problem = f"the rule {spec.name!r} judges chains, but this is a tree"
    expect(chain or not spec.chains_only, checked.where, problem)
    if spec.leaf_first:
        check_leaf_first(checked)
    else:
        check_walk(checked)


def check_guesses(checked: CheckedRound) -> None:
    """Check the random number of every node, and the draws of sampled nodes."""
    chance, sampled = checked.chance, checked.drawn != "point-mass"
    for node, guess in enumerate(checked.guesses, 1):
        where = checked.node(node)
        expect_equal(guess.u, chance.judge(node), where, "u")
        with_q = guess.q is not None
        expect(with_q == sampled, where, "q must be given exactly if the guess was sampled")
        drawn = guess.drawn is not None
        expect(drawn == sampled, where, "a draw must be given exactly if the guess was sampled")
        if guess.drawn and guess.q is not None:
            expect_equal(guess.drawn.u, chance.draft(node), where, "the draw's u")
            check_interval(guess.drawn, guess.q, where)


def check_judged(event: Judged, checked: CheckedRound, where: str) -> None:
    """Check one decision: its threshold against its inputs, and its inputs against the rows."""
    guess, rows = checked.guesses[event.node - 1], event.rows
    plan, with_q = checked.plan, checked.has_q
    inputs = {"p", "q"} if with_q else {"p"}
    inputs |= plan.spec.extra_inputs | plan.parameters.keys()
    if plan.spec.leaf_first:  # `check_leaf_first` checks which of the two inputs there are
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


def check_walk(checked: CheckedRound) -> None:
    """Check that nodes were judged from the root down, and siblings in order."""
    left = checked.children(0)
    for event in checked.played.judged:
        in_order = bool(left) and left[0] == event.node
        expect(in_order, checked.where, f"node {event.node} is judged in the wrong order")
        left = left[1:]
        if event.accepted:
            left = checked.children(event.node)
    expect(not left, checked.where, "some candidates were not judged")


def check_end(checked: CheckedRound) -> None:
    """Check the last token: its draw, its kind, and that the round added the accepted tokens."""
    drew, where = checked.played.drew, checked.where
    accepted = accepted_path(checked.played)
    emitted = [checked.guesses[node - 1].token for node in accepted]
    ended = bool(emitted) and emitted[-1] in checked.plan.eos
    expect((drew is None) == ended, where, "a last token must be drawn unless the text ended")
    if drew:
        end = accepted[-1] if accepted else 0
        problem = f"the parent of the last token is {drew.parent} but should be {end}"
        expect(drew.parent == end, where, problem)
        kind = "recovered" if checked.children(end) else "bonus"
        kind = kind if checked.played.judged else "plain"
        expect(drew.kind == kind, where, f"the last token is {kind}, not {drew.kind}")
        expect_equal(drew.drawn.u, checked.chance.final(), where, "the draw's u")
        check_drew(drew, checked.size, where)
        emitted.append(drew.token)
    same = checked.committed.tokens == emitted
    expect(same, where, "the committed tokens are not the accepted ones")
