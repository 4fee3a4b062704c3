"""The loop: propose, score, judge, commit. It yields facts and knows nothing of who is watching.

One rule: every clock is closed before a yield, since the consumer may pause for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Literal

from specviz.engine.protocol import Drafter, DraftSession, Proposal, can_branch
from specviz.engine.round import Clocks, PlainStep, RoundResult, Stop, never
from specviz.engine.schedule import GammaSchedule, schedule
from specviz.models.devices import synchronize
from specviz.models.memory import unique_bytes
from specviz.models.passes import CaptureSpec
from specviz.models.target import Target, TargetRun
from specviz.settings.settings import Settings
from specviz.verification import Rule, Verdict, choose_rule
from specviz.verification.base import finish, refuse_tree
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.tree import DraftTree


class Decoding:
    """One speculative run: the text so far, the target's cache, the drafter's session, and γ."""

    def __init__(
        self, target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
    ) -> None:
        """Raises MismatchedRule, BadSettings, or the drafter's own refusal, before any work."""
        settings.sampling.fit(target.vocab_size)
        self.target = target
        self.drafter = drafter
        self.settings = settings
        self.text = list(ids)
        self.goal = len(ids) + settings.max_new_tokens
        self.cache: TargetRun = target.start(drafter.capture, settings.sampling)
        self.session: DraftSession = drafter.begin(self.cache, settings)
        self.rule: Rule = choose_rule(settings.rule, self.session.drawn, settings.sampling)
        if can_branch(self.session):
            refuse_tree(self.rule.spec)
        self.schedule: GammaSchedule = schedule(settings)

    def rounds(self, stop: Stop = never) -> Iterator[RoundResult]:
        """Round 0 and on, until the end of the text, the limit, or `stop` says so in between."""
        yield self._prefill()
        number = 1
        while not self.ended and not stop():
            yield self._round(number)
            number += 1

    @property
    def ended(self) -> bool:
        """The text is over: the limit, or an end-of-text token."""
        return self.reason == "eos" or len(self.text) >= self.goal

    @property
    def reason(self) -> Literal["eos", "limit"]:
        """What ends the text where it is now."""
        return "eos" if self.text[-1] in self.target.eos else "limit"

    @property
    def held_bytes(self) -> int:
        """What drafter and session hold in memory now, beyond the target and its cache."""
        return unique_bytes(
            [self.drafter, self.session], beyond=[self.cache]
        )  # which leads to the target

    def _prefill(self) -> RoundResult:
        start = self._now()
        scores = self.cache.prefill(self.text)
        scored = self._now()
        p = logits_to_probs(scores.logits, self.settings.sampling)
        chance = self.settings.chance(0)
        verdict = finish([], [], p[0], chance)
        scores.check()
        judged = self._now()
        nothing = Proposal(DraftTree((self.text[-1],), (-1,)), self.session.drawn)
        token = verdict.final.drawn.token
        self.session.commit([*self.text[1:], token], scores.states)
        self.text.append(token)
        clocks = Clocks(0.0, scored - start, judged - scored, self._now() - judged)
        return RoundResult(0, chance, nothing, scores, p, verdict, (token,), clocks)

    def _round(self, number: int) -> RoundResult:
        room = min(self.goal - len(self.text), self.schedule.gamma + 1)
        chance = self.settings.chance(number)
        start = self._now()
        proposal = self.session.propose(self.text, room, chance)
        drafted = self._now()
        proposal.check(self.session.drawn, room, self.target.eos)
        scores = self.cache.score(proposal.tree, proposal.extra_rows, proposal.precomputed)
        scored = self._now()
        p = logits_to_probs(scores.logits, self.settings.sampling)
        verdict = self.rule.judge(proposal.tree, proposal.drawn, p, proposal.q, chance)
        scores.check()
        self.schedule.observe(max(proposal.tree.depths), len(verdict.path))
        tokens = self._emitted(proposal, verdict)
        judged = self._now()
        kept = (0, *verdict.path)
        self.cache.keep(kept)
        states = scores.states.take(kept[: len(tokens)])
        self.session.commit(tokens, states, scores.extra_rows)
        self.text += tokens
        clocks = Clocks(drafted - start, scored - drafted, judged - scored, self._now() - judged)
        return RoundResult(number, chance, proposal, scores, p, verdict, tokens, clocks)

    def _emitted(self, proposal: Proposal, verdict: Verdict) -> tuple[int, ...]:
        """The kept guesses and one token more, unless the text ended with a kept guess."""
        kept = tuple(proposal.tree.tokens[node] for node in verdict.path)
        if kept and kept[-1] in self.target.eos:
            return kept
        return (*kept, verdict.final.drawn.token)

    def _now(self) -> float:
        synchronize(self.target.device)
        return perf_counter()


def rounds(
    target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
) -> Iterator[RoundResult]:
    """The loop alone, unrecorded."""
    return Decoding(target, drafter, ids, settings).rounds()


def plain(
    target: Target, ids: Sequence[int], settings: Settings, stop: Stop = never
) -> Iterator[PlainStep]:
    """Plain decoding with the same passes, laws and way of drawing: the measured baseline."""
    cache, text = target.start(CaptureSpec(), settings.sampling), list(ids)
    for number in range(settings.max_new_tokens):
        if stop() or (number and text[-1] in target.eos):
            return
        start = perf_counter()
        if number:
            scores = cache.score(DraftTree((text[-1],), (-1,)))
            cache.keep((0,))
        else:
            scores = cache.prefill(ids)
        coin, logits = settings.chance(number).baseline(), scores.logits[0]
        text.append(draw(logits_to_probs(logits, settings.sampling), coin).token)
        scores.check()
        synchronize(target.device)
        seconds = perf_counter() - start
        first, second = logits.float().topk(2).values.tolist()
        yield PlainStep(text[-1], seconds, first - second, first)
