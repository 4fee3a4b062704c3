"""Von Neumann's dartboard: points thrown under M q, kept where they fall under p.

A column's points land by q and stand at a height from 0 to M q(x); those under p(x) are kept, and
what is kept is p, whatever q is. Speculative sampling throws one dart under q itself: under
min(p, q) it is kept, and a dart above is exchanged for one of p's own part above q.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.verification.siblings import max_ratio


@dataclass(frozen=True, slots=True)
class Darts:
    """tokens (n,), heights (n,): where each dart fell. kept (n,): whether it lies under p.

    bound: M, so a column of q is M q high; acceptance is 1/M.
    """

    tokens: Tensor
    heights: Tensor
    kept: Tensor
    bound: float

    @property
    def acceptance(self) -> float:
        """The chance of a dart to be kept, 1/M."""
        return 1.0 / self.bound

    def counts(self, size: int) -> list[int]:
        """By token, the darts that were kept."""
        found: list[int] = torch.bincount(self.tokens[self.kept], minlength=size).tolist()
        return found


def throw_darts(p: Tensor, q: Tensor, many: int, seed: int) -> Darts:
    """So many darts under M q. p, q: laws (V,).

    Raises ValueError where q misses a token of p: no M is large enough, and no dart lands there.
    """
    most = max_ratio(p, q).item()
    if most == float("inf"):
        raise ValueError("q gives a token no chance that p does, so no dart can ever say it.")
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(2, many, generator=generator, dtype=torch.float64)
    totals = q.double().cumsum(0)
    places = torch.searchsorted(totals, u[0] * totals[-1], right=True)
    tokens = places.clamp(max=len(q) - 1)
    heights = u[1] * most * q.double()[tokens]
    return Darts(tokens, heights, heights < p.double()[tokens], most)
