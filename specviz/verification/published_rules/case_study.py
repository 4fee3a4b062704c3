"""A case study: a published rule, what was claimed, and its exact output distribution.

Its verdict is computed from the distance to p, never written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import torch
from torch import Tensor

from specviz.trace.rule_specs import ALL_KINDS, AfterRejection, Drawn, RuleSpec
from specviz.verification.base import Inputs, NodeDistributions, Rule, UniformSource, Verdict, Walk
from specviz.verification.distributions import remove_token
from specviz.verification.exact.candidates import CandidateMethod
from specviz.verification.exact.enumeration import (
    ExactMass,
    RoundSetup,
    SampledMass,
    StringDistribution,
    accepted_length,
    distance,
    plain_distribution,
    string_masses,
)
from specviz.verification.tree import DraftTree

EXACT: Final = 1e-9  # smaller distances count as rounding
# The standard example: q ranks the tokens so badly that every error is visible.
P: Final = (0.40, 0.25, 0.20, 0.10, 0.05)
Q: Final = (0.10, 0.45, 0.15, 0.25, 0.05)
CaseVerdict = Literal["exact", "lossy"]


def token_counts(tokens: Tensor, size: int) -> StringDistribution:
    """Return how often each token id below `size` occurs, as strings of one token each."""
    counts = torch.bincount(tokens, minlength=size).tolist()
    return {(token,): float(count) for token, count in enumerate(counts) if count}


class Procedure(Protocol):
    """How a case study generates text from p and q."""

    @property
    def length(self) -> int:
        """Tokens per enumerated sequence; more than 1 if an error affects only later tokens."""

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Return the exact distribution over strings; p and q (V,) do not depend on the context."""

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Return the expected number of accepted draft tokens in a round."""

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Return how often each string occurred in `throws` rounds."""


@dataclass(frozen=True)
class RuleProcedure:
    """A rule and a method of choosing candidates; its output is computed by running the rule."""

    rule: Rule
    method: CandidateMethod
    parents: Sequence[int] = (-1, 0)
    length: int = 1

    def round(self, p: Tensor, q: Tensor) -> RoundSetup:
        """Return the round that is enumerated and sampled."""
        return RoundSetup(self.rule, lambda _: p, lambda _: q, self.parents, self.method)

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`."""
        return string_masses(self.round(p, q), ExactMass(), self.length)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`."""
        return accepted_length(self.rule, lambda _: p, lambda _: q, self.parents, self.method)

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        samples = SampledMass(throws, torch.Generator().manual_seed(seed))
        return string_masses(self.round(p, q), samples, self.length)


@dataclass(frozen=True, slots=True)
class Source:
    """The public thread or file that a case study is from."""

    title: str
    url: str


@dataclass(frozen=True)
class CaseStudy:
    """A published rule, its texts and its procedure.

    Attributes:
        judged: How they are judged, and what replaces a rejected one.
        premise: What has to hold for such a rule to be lossless.
        answer: What was answered, or what was changed later, paraphrased.
        case: The procedure.
        answered: Where that was; None for the source itself.
        p: The target's distribution at first; users can try others.
        q: The draft's distribution at first.
    """

    key: str
    name: str
    claimed: str
    source: Source
    drawn: str
    judged: str
    why: str
    premise: str
    lines: str
    answer: str
    case: Procedure
    answered: Source | None = None
    p: tuple[float, ...] = P
    q: tuple[float, ...] = Q

    def distributions(self) -> tuple[Tensor, Tensor]:
        """Return p and q as tensors (V,)."""
        return torch.tensor(self.p, dtype=torch.float64), torch.tensor(self.q, dtype=torch.float64)

    def result(self, p: Tensor | None = None, q: Tensor | None = None) -> CaseResult:
        """Return the exact result for the case study's own p and q, or for others."""
        own = self.distributions()
        target, draft = own[0] if p is None else p, own[1] if q is None else q
        length = self.case.length
        plain = plain_distribution(lambda _: target, length)
        return CaseResult(
            self.case.distribution(target, draft), plain, self.case.accepted_length(target, draft)
        )


@dataclass(frozen=True)
class CaseResult:
    """The exact result of a case study.

    Attributes:
        distribution: The output's distribution over strings.
        plain: The distribution of plain decoding, which it should equal.
        accepted_length: The expected number of accepted draft tokens in a round.
    """

    distribution: StringDistribution
    plain: StringDistribution
    accepted_length: float

    @property
    def tv(self) -> float:
        """The total variation between the two distributions."""
        return distance(self.distribution, self.plain)

    @property
    def verdict(self) -> CaseVerdict:
        """The word "exact" if the distance is no more than rounding, otherwise "lossy"."""
        return "exact" if self.tv < EXACT else "lossy"

    def first(self) -> tuple[list[float], list[float]]:
        """Return the distribution of the first token: the rule's, and the correct one."""
        size = 1 + max(string[0] for string in self.distribution.keys() | self.plain.keys())
        found = []
        for probs in (self.distribution, self.plain):
            sums = [0.0] * size
            for string, mass in probs.items():
                sums[string[0]] += mass
            found.append(sums)
        return found[0], found[1]


def sample_counts(study: CaseStudy, throws: int, seed: int) -> StringDistribution:
    """Return how often each string occurred, without revealing the rule."""
    p, q = study.distributions()
    return study.case.sample(p, q, throws, seed)


Replacement = Callable[[NodeDistributions, int], Tensor]


class PatchedRule(Walk):
    """A rule with the test of a known rule but another distribution after a rejection.

    Args:
        test: The name of the rule whose test is used.
        left: Computes the distribution (V,) to sample from after a token was rejected.
    """

    def __init__(self, test: str, left: Replacement, reads_q: bool = True) -> None:
        self.spec = RuleSpec(test, ALL_KINDS, False, False, reads_q, AfterRejection.ITSELF)
        self.parameters = {}
        self.left = left

    def after_rejection(
        self, dists: NodeDistributions, token: int, extra: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """Implement `Walk.after_rejection`."""
        return NodeDistributions(self.left(dists, token), dists.q), extra


def p_itself(dists: NodeDistributions, token: int) -> Tensor:
    """Return p unchanged."""
    return dists.p


def p_without_token(dists: NodeDistributions, token: int) -> Tensor:
    """Return p without the rejected token."""
    return remove_token(dists.p, token)


class ReusedUniform:
    """A rule in which every test of a round uses the same random number."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.spec = rule, rule.spec

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`."""
        return self.rule.judge(tree, drawn, p, q, OneUniform(chance))


@dataclass(frozen=True)
class OneUniform:
    """Random numbers that are the same for every node."""

    chance: UniformSource

    def judge(self, node: int) -> float:
        """Return the random number of node 1, whichever node is judged."""
        return self.chance.judge(1)

    def final(self) -> float:
        """Return the last token's own number."""
        return self.chance.final()
