"""Von Neumann's dartboard: points thrown under M q, accepted if they are under p.

A dart's column is sampled from q and its height is uniform from 0 to M q(x). The darts under p(x)
are accepted and follow p, whatever q is. Speculative sampling throws one dart under q itself: under
min(p, q) it is accepted, and a dart above is replaced by one from the part of p above q.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.verification.siblings import max_ratio


@dataclass(frozen=True, slots=True)
class Darts:
    """The darts thrown.

    Attributes:
        tokens: (n,) the column of each dart.
        heights: (n,) its height.
        kept: (n,) whether it is under p.
        bound: M; the column of q is M q high.
    """

    tokens: Tensor
    heights: Tensor
    kept: Tensor
    bound: float

    @property
    def acceptance(self) -> float:
        """The probability of accepting a dart, 1/M."""
        return 1.0 / self.bound

    def counts(self, size: int) -> list[int]:
        """Return how many darts of each token were accepted."""
        found: list[int] = torch.bincount(self.tokens[self.kept], minlength=size).tolist()
        return found


def throw_darts(p: Tensor, q: Tensor, count: int, seed: int) -> Darts:
    """Throw `count` darts under M q. p, q: distributions (V,).

    Raises:
        ValueError: If q misses a token of p: then no M is large enough, and no dart can land there.
    """
    highest = max_ratio(p, q).item()
    if highest == float("inf"):
        raise ValueError("q is 0 for a token that p has, so no dart can land on it.")
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(2, count, generator=generator, dtype=torch.float64)
    totals = q.double().cumsum(0)
    places = torch.searchsorted(totals, u[0] * totals[-1], right=True)
    tokens = places.clamp(max=len(q) - 1)
    heights = u[1] * highest * q.double()[tokens]
    return Darts(tokens, heights, heights < p.double()[tokens], highest)
