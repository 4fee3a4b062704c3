"""The mass on a branch of a rule's decisions: a probability, or a number of random samples.

A decision splits a mass at the random number that it used. A number used twice has only one value,
so a second split is limited by the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

import torch
from torch import Tensor


class Mass(Protocol):
    """A probability or a number of samples."""

    @property
    def size(self) -> float:
        """How much it is; 0 if nothing is left."""

    def split(self, name: int, threshold: float) -> tuple[Self, Self]:
        """Return the part with u below the threshold, and the rest.

        Args:
            name: Which random number u is.
            threshold: The threshold.
        """

    def spread(self, probs: Tensor) -> list[Self]:
        """Return the part that goes to each outcome. probs: (n,), summing to 1."""


@dataclass(frozen=True, slots=True)
class ExactMass:
    """A probability.

    Attributes:
        size: The probability.
        ranges: For each random number used, the interval [lo, hi) that it is in.
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
    """A number of samples, all drawn at once.

    Attributes:
        size: The number of samples.
        generator: The source of random numbers.
        numbers: For each random number used, its value in each sample.
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
        """Implement `Mass.spread`: each sample takes the outcome whose total exceeds its u."""
        u = torch.rand(self.size, generator=self.generator, dtype=torch.float64)
        totals = probs.double().cumsum(0)
        found = torch.searchsorted(totals, u * totals[-1], right=True).clamp(max=len(probs) - 1)
        counts = torch.bincount(found, minlength=len(probs))
        return [SampledMass(count, self.generator) for count in counts.tolist()]
