"""Rules that try every sibling by one and the same test: accept-reject, and k-SEQ.

Both need candidates drawn independently from q, and read no order into them.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from specviz.verification.base import NodeDistributions
from specviz.verification.distributions import normalize
from specviz.verification.transfer import to_host
from specviz.verification.walk import Inputs, Walk

MAX_STEPS: Final = 100  # of the search for ρ*; it takes about ten
ROUNDING: Final = 2.0**-52  # of an excess, which is a difference of numbers below 1


def max_ratio(p: Tensor, q: Tensor) -> Tensor:
    """M = max p/q over the tokens that p has; infinity where q misses one of them."""
    return torch.where(p > 0, p / q, torch.zeros_like(p)).amax(dim=-1)


class AcceptReject(Walk):
    """Von Neumann's accept-reject (1951), where speculative sampling comes from.

    Keep x drawn from q with chance p(x)/(M q(x)), M = max p/q; he redraws until one is kept. Here
    the candidates are as many as were drafted, and where all fell the token is drawn from p itself.
    Proof: a candidate is kept as x with chance q p/(M q) = p/M, so given that one is kept it
    follows p; and that all fell says nothing of the last draw. Chance of keeping: 1/M each.
    """

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """See `Walk`: 1/M, which is 0 where q misses a token."""
        assert law.q is not None
        return {"least": (1.0 / max_ratio(law.p, law.q)).item()}


class KSeq(Walk):
    """k-SEQ (SpecTr 2310.15141): every one of k independent draws with min(1, p/(ρ q)).

    With β = Σ min(q, p/ρ) and P = 1 − (1 − β)^k one is kept, and accepted mass at x is
    min(q, p/ρ) P/β; the rest is drawn from p minus that. Lossless where that is nowhere negative,
    so for ρ ≥ ρ*, the root of 1 − (1 − β)^k = ρ β; at ρ* the rest is (p − ρ q)₊. Proof: accepted
    mass plus what is left is p, token by token. The published bound: within 1 − 1/e of optimal.
    """

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """See `Walk`: ρ*."""
        assert law.q is not None
        p, q = to_host(law.p, law.q)
        return {"rho": least_rho(p, q, candidates)}

    def final_probs(self, law: NodeDistributions, facts: Inputs) -> Tensor:
        """See `Walk`: (p − ρ q)₊."""
        assert law.q is not None
        return normalize((law.p - facts["rho"] * law.q).clamp(min=0.0), law.p)


def acceptance_of_one(p: Tensor, q: Tensor, rho: float) -> Tensor:
    """β(ρ) = Σ min(q, p/ρ) over the last axis: the chance to keep one candidate."""
    return torch.minimum(q, p / rho).sum(dim=-1)


def least_rho(p: Tensor, q: Tensor, candidates: int) -> float:
    """ρ*: the least ρ from 1 to k with 1 − (1 − β)^k ≤ ρ β, so that no residual is negative.

    By false position (Illinois): about ten sums over the vocabulary.
    """
    low, high = 1.0, float(candidates)
    below, above = _excess(p, q, low, candidates), _excess(p, q, high, candidates)
    if candidates == 1 or below <= 0.0:
        return low
    moved = 0
    for _ in range(MAX_STEPS):
        middle = high - above * (high - low) / (above - below)
        excess = _excess(p, q, middle, candidates)
        if abs(excess) <= ROUNDING:
            return middle
        if excess > 0.0:
            low, below, above, moved = middle, excess, above / (2 if moved == 1 else 1), 1
        else:
            high, above, below, moved = middle, excess, below / (2 if moved == -1 else 1), -1
    return high


def _excess(p: Tensor, q: Tensor, rho: float, candidates: int) -> float:
    """What the accepted mass would be too much: above 0 below ρ*."""
    beta = acceptance_of_one(p, q, rho).item()
    return float(1.0 - (1.0 - beta) ** candidates - rho * beta)


def k_seq_residual(p: Tensor, q: Tensor, rho: float, candidates: int) -> Tensor:
    """p − min(q, p/ρ) P/β (V,), not scaled: below ρ* some of it is negative, so no law at all."""
    beta = acceptance_of_one(p, q, rho)
    kept = 1.0 - (1.0 - beta) ** candidates
    return p - torch.minimum(q, p / rho) * torch.where(beta > 0, kept / beta, beta)
