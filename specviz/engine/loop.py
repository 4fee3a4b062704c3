"""The speculative decoding loop: propose, score, judge, commit.

The loop yields the result of each round and does not depend on its consumer. Every clock is stopped
before a `yield`, because the consumer may pause for minutes.

How many tokens to draft per round is a schedule: a fixed γ, or one that adapts to acceptance. γ
depends on past rounds only, never on the tokens being drafted, so the output distribution stays
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, Protocol

from torch import Tensor

from specviz.engine.judging import judge, sample
from specviz.engine.protocol import Drafter, DraftSession, Proposal, can_branch, draft_cut
from specviz.models.devices import synchronize
from specviz.models.errors import Unsuitable
from specviz.models.memory import unique_bytes
from specviz.models.passes import CaptureSpec, Scores
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings, max_gamma
from specviz.verification import Decision, Rule, Verdict, choose_rule
from specviz.verification.base import (
    AcceptanceProbability,
    acceptance_probability,
    refuse_tree,
)
from specviz.verification.tree import DraftTree

Stop = Callable[[], bool]  # called between rounds; if it returns True, the run ends


def never() -> bool:
    """Return False: a `Stop` that never ends a run."""
    return False


@dataclass(frozen=True, slots=True)
class Clocks:
    """Durations of the four stages of one round.

    Attributes:
        draft: Seconds spent proposing.
        score: Seconds of the target's pass.
        judge: Seconds spent verifying.
        commit: Seconds spent updating the caches.
    """

    draft: float
    score: float
    judge: float
    commit: float


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The result of one round, with tensors on the device, which the next round may overwrite.

    Round 0 is the prefill: its proposal is empty, and it adds one token sampled from the target.

    Attributes:
        number: The round, counted from 0.
        chance: The round's random numbers.
        proposal: The drafter's proposal.
        scores: The target's scores of the proposal.
        p: The target's distribution after each node of the tree, (n, V).
        verdict: The decisions, the accepted path, and the last token with its distribution.
        tokens: The tokens that the round added to the text. If an accepted token ended the text,
            the verdict's last token is left out.
        clocks: The duration of each stage.
    """

    number: int
    chance: Chance
    proposal: Proposal
    scores: Scores
    p: Tensor
    verdict: Verdict
    tokens: tuple[int, ...]
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class PlainStep:
    """One pass of plain decoding.

    Attributes:
        token: The token that it added.
        seconds: Its duration.
        margin: The target's largest logit minus the second largest.
        top: The target's largest logit.
    """

    token: int
    seconds: float
    margin: float
    top: float


def check_context(drafter: Drafter, prompt: int, new: int) -> None:
    """Check that a drafter's context is long enough for a run.

    Drafters that read texts as long as the target's do not set the attribute `max_length`.

    Args:
        drafter: The drafter.
        prompt: Tokens of the prompt.
        new: The largest number of new tokens.

    Raises:
        Unsuitable: If the context is shorter.
    """
    limit: int | None = getattr(drafter, "max_length", None)
    if limit is not None and prompt + new > limit:
        raise Unsuitable(
            f"{drafter.card.name!r} can see at most {limit:,} tokens, but this run can have "
            f"{prompt + new:,}: {prompt:,} of the prompt and {new:,} new ones."
        )


class Decoding:
    """The state of one speculative run: text, target cache, drafter session and γ schedule."""

    def __init__(
        self, target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
    ) -> None:
        """Check that target, drafter and settings fit together, before any pass.

        Args:
            target: The target model.
            drafter: A drafter that fits the target.
            ids: Token ids of the prompt.
            settings: The run's settings.

        Raises:
            MismatchedRule: The rule is not lossless for the way in which the drafter samples.
            BadSettings: A setting does not suit the target.
            ValueError: The drafter does not fit the target; the message says why.
        """
        settings.sampling.fit(target.vocab_size)
        check_context(drafter, len(ids), settings.max_new_tokens)
        self.target = target
        self.drafter = drafter
        self.settings = settings
        self.text = list(ids)
        self.goal = len(ids) + settings.max_new_tokens
        self.cache: TargetRun = target.start(drafter.capture, settings.sampling)
        self.session: DraftSession = drafter.begin(self.cache, settings)
        self.rule: Rule = choose_rule(
            settings.rule, self.session.drawn, settings.sampling, draft_cut(self.session)
        )
        if can_branch(self.session):
            refuse_tree(self.rule.spec)
        self.schedule: GammaSchedule = schedule(settings)

    def rounds(self, stop: Stop = never) -> Iterator[RoundResult]:
        """Yield the rounds from 0 on, until the text ends or `stop` returns True."""
        yield self._prefill()
        number = 1
        while not self.ended and not stop():
            yield self._round(number)
            number += 1

    @property
    def ended(self) -> bool:
        """Return whether the token limit or an end-of-text token has ended the text."""
        return self.reason == "eos" or len(self.text) >= self.goal

    @property
    def reason(self) -> Literal["eos", "limit"]:
        """Return why the text ended: "eos" after an end-of-text token, otherwise "limit"."""
        return "eos" if self.text[-1] in self.target.eos else "limit"

    @property
    def held_bytes(self) -> int:
        """Return the bytes held by drafter and session but not by the target and its cache."""
        # The cache refers to the target, so excluding it excludes both.
        return unique_bytes([self.drafter, self.session], excluding=[self.cache])

    def _prefill(self) -> RoundResult:
        start = self._now()
        scores = self.cache.prefill(self.text)
        scored = self._now()
        empty = Proposal(DraftTree((self.text[-1],), (-1,)), self.session.drawn)
        chance = self.settings.chance(0)
        p, verdict = self._judge(empty, scores, chance)
        judged = self._now()
        token = verdict.final.drawn.token
        self.session.commit([*self.text[1:], token], scores.states)
        self.text.append(token)
        clocks = Clocks(0.0, scored - start, judged - scored, self._now() - judged)
        return RoundResult(0, chance, empty, scores, p, verdict, (token,), clocks)

    def _round(self, number: int) -> RoundResult:
        max_tokens = min(self.goal - len(self.text), self.schedule.gamma + 1)
        chance = self.settings.chance(number)
        start = self._now()
        proposal = self.session.propose(self.text, max_tokens, chance)
        drafted = self._now()
        proposal.check(self.session.drawn, max_tokens, self.target.eos, draft_cut(self.session))
        scores = self.cache.score(proposal.tree, proposal.extra_rows, proposal.precomputed)
        scored = self._now()
        p, verdict = self._judge(proposal, scores, chance)
        self.schedule.observe(max(proposal.tree.depths), len(verdict.path))
        tokens = self._emitted(proposal, verdict)
        judged = self._now()
        accepted = (0, *verdict.path)
        self.cache.keep(accepted)
        states = scores.states.take(accepted[: len(tokens)])
        self.session.commit(tokens, states, scores.extra_rows)
        self.text += tokens
        clocks = Clocks(drafted - start, scored - drafted, judged - scored, self._now() - judged)
        return RoundResult(number, chance, proposal, scores, p, verdict, tokens, clocks)

    def _judge(self, proposal: Proposal, scores: Scores, chance: Chance) -> tuple[Tensor, Verdict]:
        sampling, logits = self.settings.sampling, scores.logits
        found = judge(self.cache, self.rule, proposal, logits, sampling, chance)
        scores.check()
        return found

    def _emitted(self, proposal: Proposal, verdict: Verdict) -> tuple[int, ...]:
        # The last token is left out if an accepted token ended the text.
        accepted = tuple(proposal.tree.tokens[node] for node in verdict.path)
        if accepted and accepted[-1] in self.target.eos:
            return accepted
        return (*accepted, verdict.final.drawn.token)

    def _now(self) -> float:
        # Once the device has finished its queued work.
        synchronize(self.target.device)
        return perf_counter()


def rounds(
    target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
) -> Iterator[RoundResult]:
    """Run the loop and yield its rounds without recording them."""
    return Decoding(target, drafter, ids, settings).rounds()


def plain(
    target: Target, ids: Sequence[int], settings: Settings, stop: Stop = never
) -> Iterator[PlainStep]:
    """Decode one token per pass; this is the measured baseline.

    It uses the same passes, distributions and sampling as the speculative loop.
    """
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
        u = settings.chance(number).baseline()
        text.append(sample(cache, scores.logits, settings.sampling, u))
        scores.check()
        synchronize(target.device)
        seconds = perf_counter() - start
        first, second = scores.logits[0].float().topk(2).values.tolist()
        yield PlainStep(text[-1], seconds, first - second, first)


def alpha(result: RoundResult, decision: Decision) -> AcceptanceProbability:
    """Return the probability that one of the candidates at a position is accepted.

    Siblings share this probability. It is returned for the first sibling only; for later siblings,
    `value` and `tries` are None.
    """
    tree = result.proposal.tree
    siblings = tree.children[tree.parents[decision.node]]
    if decision.node != siblings[0]:
        return AcceptanceProbability(None, None)
    return acceptance_probability(
        decision.distributions, [tree.tokens[n] for n in siblings], result.proposal.drawn
    )


class GammaSchedule(Protocol):
    """Chooses γ for the next round."""

    gamma: int

    def observe(self, drafted: int, accepted: int) -> None:
        """Take a round into account.

        Args:
            drafted: Depth of the proposal; for a chain, its number of tokens.
            accepted: Number of accepted tokens.
        """
        ...


class Fixed:
    """The same γ in every round."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma

    def observe(self, drafted: int, accepted: int) -> None:
        """Ignore the round."""


class Learning:
    """γ as adapted by the `heuristic` schedule of transformers.

    γ grows by 2 after a fully accepted round and shrinks by 1 otherwise, between 1 and `most`.
    """

    def __init__(self, gamma: int, most: int) -> None:
        self.gamma = gamma
        self.most = most

    def observe(self, drafted: int, accepted: int) -> None:
        """Adapt γ, unless the round drafted no tokens."""
        if drafted:
            step = 2 if accepted == drafted else -1
            self.gamma = min(self.most, max(1, self.gamma + step))


def schedule(settings: Settings) -> GammaSchedule:
    """Return the γ schedule that the settings select.

    γ never exceeds the largest value that is valid for the settings' number of siblings.
    """
    if settings.schedule == "fixed":
        return Fixed(settings.gamma)
    return Learning(settings.gamma, max_gamma(settings.siblings))
