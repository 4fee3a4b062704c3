"""The output distribution of a rule by enumeration: the real rule runs on every branch.

Every draft is weighted by its probability. For every random number u, both outcomes are followed,
weighted by the probability given by the threshold, and the whole distribution of the last token is
used instead of a sample. The result is exact up to float64 rounding, so tests use it as their
reference. Random samples can also be passed through the same branches (see `monte_carlo`): a `Mass`
is either a probability or a number of samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification.base import Rule, Verdict
from specviz.verification.distributions import total_variation
from specviz.verification.exact.candidates import (
    CandidateMethod,
    Context,
    Model,
    as_method,
    path_tokens,
    proposals,
)
from specviz.verification.tree import DraftTree


class Mass(Protocol):
    """A probability, or a number of samples, that is divided among branches."""

    @property
    def size(self) -> float:
        """The probability or the number of samples."""

    def split(self, name: int, threshold: float) -> tuple[Self, Self]:
        """Divide this mass into the part with u below the threshold, and the rest.

        Args:
            name: Identifies the random number u, so that a number used twice has one value.
            threshold: The threshold.
        """

    def spread(self, probs: Tensor) -> list[Self]:
        """Divide this mass among outcomes with these probabilities (n,), which sum to 1."""


@dataclass(frozen=True, slots=True)
class ExactMass:
    """A probability.

    Attributes:
        size: The probability.
        ranges: For each random number in use, the interval [lo, hi) that contains it.
    """

    size: float = 1.0
    ranges: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def split(self, name: int, threshold: float) -> tuple[ExactMass, ExactMass]:
        """Implement `Mass.split`."""
        lo, hi = self.ranges.get(name, (0.0, 1.0))
        at = min(max(threshold, lo), hi)
        below = ExactMass(self.size * ((at - lo) / (hi - lo)), {**self.ranges, name: (lo, at)})
        return below, ExactMass(
            self.size * ((hi - at) / (hi - lo)), {**self.ranges, name: (at, hi)}
        )

    def spread(self, probs: Tensor) -> list[ExactMass]:
        """Implement `Mass.spread`."""
        return [ExactMass(self.size * share) for share in probs.tolist()]


@dataclass(frozen=True, slots=True)
class SampledMass:
    """A number of samples, drawn together.

    Attributes:
        size: The number of samples.
        generator: The source of random numbers.
        numbers: For each random number in use, its value in each sample.
    """

    size: int
    generator: torch.Generator
    numbers: Mapping[int, Tensor] = field(default_factory=dict)

    def split(self, name: int, threshold: float) -> tuple[SampledMass, SampledMass]:
        """Implement `Mass.split`."""
        u = self.numbers.get(name)
        if u is None:
            u = torch.rand(self.size, generator=self.generator, dtype=torch.float64)
        below = u < threshold
        return self._where(below, name, u), self._where(~below, name, u)

    def _where(self, taken: Tensor, name: int, u: Tensor) -> SampledMass:
        numbers = {key: each[taken] for key, each in {**self.numbers, name: u}.items()}
        return SampledMass(int(taken.sum()), self.generator, numbers)

    def spread(self, probs: Tensor) -> list[SampledMass]:
        """Implement `Mass.spread`; u selects the outcome by cumulative probability."""
        u = torch.rand(self.size, generator=self.generator, dtype=torch.float64)
        totals = probs.double().cumsum(0)
        found = torch.searchsorted(totals, u * totals[-1], right=True).clamp(max=len(probs) - 1)
        counts = torch.bincount(found, minlength=len(probs))
        return [SampledMass(count, self.generator) for count in counts.tolist()]


StringDistribution = dict[Context, float]


M = TypeVar("M", bound=Mass)
ACCEPT, REJECT = 0.0, 1.0 - 2.0**-53  # values of u: always accepted, always rejected


@dataclass
class ScriptedSource:
    """Random numbers that accept or reject as scripted; after the end of the script they reject.

    Attributes:
        script: Whether each decision accepts, in the order in which numbers are requested.
        requested: The nodes in this order; a node requested twice is listed twice.
    """

    script: Sequence[bool] = ()
    requested: list[int] = field(default_factory=list)

    def judge(self, node: int) -> float:
        """Return a number that accepts or rejects `node` as scripted."""
        index = len(self.requested)
        self.requested.append(node)
        return ACCEPT if index < len(self.script) and self.script[index] else REJECT

    def final(self) -> float:
        """Return an arbitrary number, since the last token's whole distribution is used."""
        return 0.0


@dataclass(frozen=True, slots=True)
class RoundSetup:
    """What defines a round: a rule, two models, the tree's shape, how candidates are sampled.

    Attributes:
        rule: The rule.
        target: Maps a context to the target's distribution.
        draft: Maps a context to the draft's distribution.
        parents: The parent of each node; [-1, 0, 1] is a chain of two guesses.
        method: How candidates are sampled.
    """

    rule: Rule
    target: Model
    draft: Model
    parents: Sequence[int]
    method: CandidateMethod

    @classmethod
    def position(
        cls, rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
    ) -> RoundSetup:
        """Return a round of one position with several candidates; p and q are (V,)."""
        return cls(rule, lambda _: p, lambda _: q, [-1] + [0] * candidates, as_method(how))

    @classmethod
    def chain(
        cls, rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, gamma: int
    ) -> RoundSetup:
        """Return a round with a chain of γ guesses and the same p and q (V,) in every context."""
        return cls(rule, lambda _: p, lambda _: q, list(range(-1, gamma)), as_method(how))


def branches(
    rule: Rule, tree: DraftTree, p: Tensor, q: Mapping[int, Tensor], drawn: Drawn, start: M
) -> Iterator[tuple[M, Verdict]]:
    """Yield every possible verdict on this tree, with the part of `start` that reaches it."""
    waiting: list[tuple[tuple[bool, ...], M]] = [((), start)]
    while waiting:
        script, mass = waiting.pop()
        source = ScriptedSource(script)
        verdict = rule.judge(tree, drawn, p, q, source)
        bars = verdict.bars or [decision.threshold for decision in verdict.decisions]
        for index in range(len(script), len(bars)):
            accepted, mass = mass.split(source.requested[index], bars[index])
            if accepted.size:
                waiting.append(((*script, True), accepted))
            script = (*script, False)
            if not mass.size:
                break
        if mass.size:
            yield mass, verdict


def verdicts(
    rule: Rule, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor]
) -> Iterator[tuple[float, Verdict]]:
    """Yield every verdict that the rule can reach on this tree with its probability."""
    for mass, verdict in branches(rule, tree, p, q, drawn, ExactMass()):
        yield mass.size, verdict


def play_round(round: RoundSetup, start: M) -> Iterator[tuple[M, DraftTree, Verdict]]:
    """Yield every possible outcome of a round, with the part of `start` that reaches it."""
    trees = list(proposals(round.draft, round.parents, round.method))
    if not trees:
        return
    weights = torch.tensor([weight for weight, _, _ in trees], dtype=torch.float64)
    shares = start.spread(weights)
    for mass, (_, tree, q) in zip(shares, trees, strict=True):
        if mass.size:
            p = torch.stack([round.target(path_tokens(tree, node)) for node in range(len(tree))])
            for share, verdict in branches(round.rule, tree, p, q, round.method.drawn, mass):
                yield share, tree, verdict


def string_masses(round: RoundSetup, start: M, length: int) -> StringDistribution:
    """Return how much of `start` ends in each string of `length` tokens.

    After the round, plain decoding fills the string. The string contains the whole round if
    `length` is at least the tree's depth plus 1.
    """
    out: defaultdict[Context, float] = defaultdict(float)
    for mass, tree, verdict in play_round(round, start):
        accepted = path_tokens(tree, verdict.path[-1]) if verdict.path else ()
        for token, share in enumerate(mass.spread(verdict.final.probs)):
            _extend(out, round.target, (*accepted, token), share, length)
    return dict(out)


def _extend(
    out: StringDistribution, target: Model, context: Context, mass: Mass, length: int
) -> None:
    # `context` is cut to `length` tokens or continued by plain decoding.
    if not mass.size:
        return
    if len(context) >= length:
        out[context[:length]] += mass.size
        return
    for token, share in enumerate(mass.spread(target(context))):
        _extend(out, target, (*context, token), share, length)


def joint_distribution(
    rule: Rule,
    target: Model,
    draft: Model,
    parents: Sequence[int],
    how: Drawn | CandidateMethod,
    length: int,
) -> StringDistribution:
    """Return the distribution of `length` tokens: one round, then plain decoding."""
    return string_masses(
        RoundSetup(rule, target, draft, parents, as_method(how)), ExactMass(), length
    )


def plain_distribution(target: Model, length: int) -> StringDistribution:
    """Return the distribution of `length` tokens of plain decoding, which lossless rules keep."""
    out: defaultdict[Context, float] = defaultdict(float)
    _extend(out, target, (), ExactMass(), length)
    return dict(out)


@dataclass(frozen=True, slots=True)
class PositionResult:
    """The output distribution of a rule at one position: (V,) in float64 each.

    Attributes:
        p: The target's distribution, which the output should have.
        through_draft: The probability that a token is output as an accepted candidate.
        through_rest: The probability that it is sampled after all candidates were rejected.
    """

    p: Tensor
    through_draft: Tensor
    through_rest: Tensor

    @property
    def output(self) -> Tensor:
        """The output distribution."""
        return self.through_draft + self.through_rest

    @property
    def acceptance(self) -> float:
        """α, the probability that a candidate is accepted."""
        return self.through_draft.sum().item()

    @property
    def tv(self) -> float:
        """Total variation ½ Σ |output − p|: 0 up to rounding if the rule is lossless."""
        return total_variation(self.output, self.p).item()

    @property
    def wrong(self) -> Tensor:
        """Output minus p, token by token."""
        return self.output - self.p


def enumerate_position(round: RoundSetup) -> PositionResult:
    """Return the result for one position, which is the first token of the round."""
    p = round.target(())
    found = PositionResult(p.double(), torch.zeros(len(p)).double(), torch.zeros(len(p)).double())
    for mass, tree, verdict in play_round(round, ExactMass()):
        if verdict.path:
            found.through_draft[tree.tokens[verdict.path[0]]] += mass.size
        else:
            found.through_rest.add_(verdict.final.probs.cpu().double(), alpha=mass.size)
    return found


def output_distribution(
    rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
) -> Tensor:
    """Return the output distribution (V,) at one position with several candidates."""
    return enumerate_position(RoundSetup.position(rule, p, q, how, candidates)).output


def acceptance(
    rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
) -> float:
    """Return α at one position: the probability that one of the candidates is accepted."""
    return enumerate_position(RoundSetup.position(rule, p, q, how, candidates)).acceptance


def accepted_length(
    rule: Rule, target: Model, draft: Model, parents: Sequence[int], how: Drawn | CandidateMethod
) -> float:
    """Return the expected number of accepted guesses in a round."""
    round = RoundSetup(rule, target, draft, parents, as_method(how))
    return sum(mass.size * len(verdict.path) for mass, _, verdict in play_round(round, ExactMass()))


def distance(a: StringDistribution, b: StringDistribution) -> float:
    """Return the total variation ½ Σ |a − b| of two distributions over token strings."""
    return sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in a.keys() | b.keys()) / 2
