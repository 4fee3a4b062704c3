"""What an exhibit is: a rule as found in public, with what was claimed, and its exact law.

Its one rule: a verdict is computed, never typed; it follows from the distance to p alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import torch
from torch import Tensor

from specviz.verification.base import Rule
from specviz.verification.exact.candidates import CandidateMethod
from specviz.verification.exact.enumeration import (
    RoundSetup,
    StringDistribution,
    accepted_length,
    distance,
    plain_distribution,
    string_masses,
)
from specviz.verification.exact.masses import ExactMass, SampledMass

EXACT: Final = 1e-9  # a distance below it is rounding
# The worked example: q ranks badly, so that every fault shows.
P: Final = (0.40, 0.25, 0.20, 0.10, 0.05)
Q: Final = (0.10, 0.45, 0.15, 0.25, 0.05)
Verdict = Literal["exact", "lossy"]


class Procedure(Protocol):
    """How an exhibit turns p and q into text. length: how many tokens are looked at together."""

    @property
    def length(self) -> int:
        """Tokens of a string; some faults leave the first token as it should be."""

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """The exact law over strings. p, q: (V,), the same in every context."""

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """The expected number of draft tokens kept in a round."""

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """How often each string came in so many rounds."""


@dataclass(frozen=True)
class RuleProcedure:
    """A case that is a rule on a drawing: its law is enumerated, its coins are really thrown.

    parents: the shape of the draft, as `enumeration.RoundSetup` has it.
    """

    rule: Rule
    drawing: CandidateMethod
    parents: Sequence[int] = (-1, 0)
    length: int = 1

    def round(self, p: Tensor, q: Tensor) -> RoundSetup:
        """The question that enumeration and coins are put."""
        return RoundSetup(self.rule, lambda _: p, lambda _: q, self.parents, self.drawing)

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """See `Procedure`."""
        return string_masses(self.round(p, q), ExactMass(), self.length)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """See `Procedure`."""
        return accepted_length(self.rule, lambda _: p, lambda _: q, self.parents, self.drawing)

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """See `Procedure`."""
        coins = SampledMass(throws, torch.Generator().manual_seed(seed))
        return string_masses(self.round(p, q), coins, self.length)


@dataclass(frozen=True, slots=True)
class Source:
    """Where it is to be read: a public thread or file."""

    title: str
    url: str


@dataclass(frozen=True)
class CaseStudy:
    """A rule in the wild. claimed: what was said of it there, in our words. drawn: how candidates
    come about. judged: how they are judged, and what replaces one that fell. why: the reason of the
    verdict. p, q: laws to begin with; any of the same kind may be put in their place.
    """

    key: str
    name: str
    claimed: str
    source: Source
    drawn: str
    judged: str
    why: str
    case: Procedure
    p: tuple[float, ...] = P
    q: tuple[float, ...] = Q

    def laws(self) -> tuple[Tensor, Tensor]:
        """p and q as tensors (V,)."""
        return torch.tensor(self.p, dtype=torch.float64), torch.tensor(self.q, dtype=torch.float64)

    def result(self, p: Tensor | None = None, q: Tensor | None = None) -> CaseResult:
        """The exact answer, at the exhibit's own laws or others."""
        own = self.laws()
        target, draft = own[0] if p is None else p, own[1] if q is None else q
        length = self.case.length
        plain = plain_distribution(lambda _: target, length)
        return CaseResult(
            self.case.distribution(target, draft), plain, self.case.accepted_length(target, draft)
        )


@dataclass(frozen=True)
class CaseResult:
    """law: what comes out, over strings; plain: what should; kept: draft tokens kept a round."""

    distribution: StringDistribution
    plain: StringDistribution
    accepted_length: float

    @property
    def tv(self) -> float:
        """The total variation between them."""
        return distance(self.distribution, self.plain)

    @property
    def verdict(self) -> Verdict:
        """Exact where the distance is rounding."""
        return "exact" if self.tv < EXACT else "lossy"

    def first(self) -> tuple[list[float], list[float]]:
        """By token, the chance to come first: as it is, and as it should be."""
        size = 1 + max(string[0] for string in self.distribution.keys() | self.plain.keys())
        found = []
        for law in (self.distribution, self.plain):
            sums = [0.0] * size
            for string, mass in law.items():
                sums[string[0]] += mass
            found.append(sums)
        return found[0], found[1]


def sample_counts(exhibit: CaseStudy, throws: int, seed: int) -> StringDistribution:
    """What a detective sees: how often each string came, and nothing of the rule."""
    p, q = exhibit.laws()
    return exhibit.case.sample(p, q, throws, seed)
