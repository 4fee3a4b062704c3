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
from specviz.verification.exact.drawing import Drawing
from specviz.verification.exact.enumeration import (
    Law,
    Round,
    accepted_length,
    distance,
    plain_law,
    strings,
)
from specviz.verification.exact.masses import Chance, Throws

EXACT: Final = 1e-9  # a distance below it is rounding
# The worked example: q ranks badly, so that every fault shows.
P: Final = (0.40, 0.25, 0.20, 0.10, 0.05)
Q: Final = (0.10, 0.45, 0.15, 0.25, 0.05)
Verdict = Literal["exact", "lossy"]


class Case(Protocol):
    """How an exhibit turns p and q into text. length: how many tokens are looked at together."""

    @property
    def length(self) -> int:
        """Tokens of a string; some faults leave the first token as it should be."""

    def law(self, p: Tensor, q: Tensor) -> Law:
        """The exact law over strings. p, q: (V,), the same in every context."""

    def kept(self, p: Tensor, q: Tensor) -> float:
        """The expected number of draft tokens kept in a round."""

    def thrown(self, p: Tensor, q: Tensor, throws: int, seed: int) -> Law:
        """How often each string came in so many rounds."""


@dataclass(frozen=True)
class Ruled:
    """A case that is a rule on a drawing: its law is enumerated, its coins are really thrown.

    parents: the shape of the draft, as `enumeration.Round` has it.
    """

    rule: Rule
    drawing: Drawing
    parents: Sequence[int] = (-1, 0)
    length: int = 1

    def round(self, p: Tensor, q: Tensor) -> Round:
        """The question that enumeration and coins are put."""
        return Round(self.rule, lambda _: p, lambda _: q, self.parents, self.drawing)

    def law(self, p: Tensor, q: Tensor) -> Law:
        """See `Case`."""
        return strings(self.round(p, q), Chance(), self.length)

    def kept(self, p: Tensor, q: Tensor) -> float:
        """See `Case`."""
        return accepted_length(self.rule, lambda _: p, lambda _: q, self.parents, self.drawing)

    def thrown(self, p: Tensor, q: Tensor, throws: int, seed: int) -> Law:
        """See `Case`."""
        coins = Throws(throws, torch.Generator().manual_seed(seed))
        return strings(self.round(p, q), coins, self.length)


@dataclass(frozen=True, slots=True)
class Source:
    """Where it is to be read: a public thread or file."""

    title: str
    url: str


@dataclass(frozen=True)
class Exhibit:
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
    case: Case
    p: tuple[float, ...] = P
    q: tuple[float, ...] = Q

    def laws(self) -> tuple[Tensor, Tensor]:
        """p and q as tensors (V,)."""
        return torch.tensor(self.p, dtype=torch.float64), torch.tensor(self.q, dtype=torch.float64)

    def result(self, p: Tensor | None = None, q: Tensor | None = None) -> Result:
        """The exact answer, at the exhibit's own laws or others."""
        own = self.laws()
        target, draft = own[0] if p is None else p, own[1] if q is None else q
        length = self.case.length
        plain = plain_law(lambda _: target, length)
        return Result(self.case.law(target, draft), plain, self.case.kept(target, draft))


@dataclass(frozen=True)
class Result:
    """law: what comes out, over strings; plain: what should; kept: draft tokens kept a round."""

    law: Law
    plain: Law
    kept: float

    @property
    def tv(self) -> float:
        """The total variation between them."""
        return distance(self.law, self.plain)

    @property
    def verdict(self) -> Verdict:
        """Exact where the distance is rounding."""
        return "exact" if self.tv < EXACT else "lossy"

    def first(self) -> tuple[list[float], list[float]]:
        """By token, the chance to come first: as it is, and as it should be."""
        size = 1 + max(string[0] for string in self.law.keys() | self.plain.keys())
        found = []
        for law in (self.law, self.plain):
            sums = [0.0] * size
            for string, mass in law.items():
                sums[string[0]] += mass
            found.append(sums)
        return found[0], found[1]


def evidence(exhibit: Exhibit, throws: int, seed: int) -> Law:
    """What a detective sees: how often each string came, and nothing of the rule."""
    p, q = exhibit.laws()
    return exhibit.case.thrown(p, q, throws, seed)
