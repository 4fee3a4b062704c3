"""What goes down the branches of a rule's decisions: probability, or coins really thrown.

One rule: a decision splits a mass by the coin it asked for; a coin that is asked for twice has
fallen only once, so its second answer follows from where the first has left it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

import torch
from torch import Tensor


class Mass(Protocol):
    """size: probability, or how many throws; 0 where nothing is left of it."""

    @property
    def size(self) -> float:
        """How much it is."""

    def split(self, coin: int, threshold: float) -> tuple[Self, Self]:
        """What of it falls below the threshold and is kept, and what does not."""

    def spread(self, law: Tensor) -> list[Self]:
        """By outcome, what of it goes there. law: (n,), summing to 1."""


@dataclass(frozen=True, slots=True)
class ExactMass:
    """Probability. coins: by name, the interval [lo, hi) that one asked for lies in."""

    size: float = 1.0
    coins: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def split(self, coin: int, threshold: float) -> tuple[ExactMass, ExactMass]:
        """See `Mass`."""
        lo, hi = self.coins.get(coin, (0.0, 1.0))
        at = min(max(threshold, lo), hi)
        kept = ExactMass(self.size * ((at - lo) / (hi - lo)), {**self.coins, coin: (lo, at)})
        return kept, ExactMass(self.size * ((hi - at) / (hi - lo)), {**self.coins, coin: (at, hi)})

    def spread(self, law: Tensor) -> list[ExactMass]:
        """See `Mass`."""
        return [ExactMass(self.size * share) for share in law.tolist()]


@dataclass(frozen=True, slots=True)
class SampledMass:
    """Throws of coins, all at once. coins: by name, one number in [0, 1) for each throw."""

    size: int
    generator: torch.Generator
    coins: Mapping[int, Tensor] = field(default_factory=dict)

    def split(self, coin: int, threshold: float) -> tuple[SampledMass, SampledMass]:
        """See `Mass`."""
        u = self.coins.get(coin)
        if u is None:
            u = torch.rand(self.size, generator=self.generator, dtype=torch.float64)
        below = u < threshold
        return self._where(below, coin, u), self._where(~below, coin, u)

    def _where(self, taken: Tensor, coin: int, u: Tensor) -> SampledMass:
        coins = {name: each[taken] for name, each in {**self.coins, coin: u}.items()}
        return SampledMass(int(taken.sum()), self.generator, coins)

    def spread(self, law: Tensor) -> list[SampledMass]:
        """See `Mass`: each throw draws one outcome, by the running total that it falls under."""
        u = torch.rand(self.size, generator=self.generator, dtype=torch.float64)
        totals = law.double().cumsum(0)
        found = torch.searchsorted(totals, u * totals[-1], right=True).clamp(max=len(law) - 1)
        counts = torch.bincount(found, minlength=len(law))
        return [SampledMass(many, self.generator) for many in counts.tolist()]
