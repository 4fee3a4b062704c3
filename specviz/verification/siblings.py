"""Rules that test every sibling in the same way: accept-reject and k-SEQ.

Both need candidates sampled independently from q and do not depend on their order.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from specviz.verification.base import NodeDistributions
from specviz.verification.distributions import normalize
from specviz.verification.transfer import to_host
from specviz.verification.walk import Inputs, Walk

MAX_STEPS: Final = 100  # of the search for ρ*, which takes about ten
ROUNDING: Final = 2.0**-52  # of a difference of numbers below 1


def max_ratio(p: Tensor, q: Tensor) -> Tensor:
    """Return M = max p/q over the tokens that p has; infinity if q misses one of them."""
    return torch.where(p > 0, p / q, torch.zeros_like(p)).amax(dim=-1)


class AcceptReject(Walk):
    """Von Neumann's accept-reject (1951), from which speculative sampling comes.

    Accept x sampled from q with probability p(x)/(M q(x)), M = max p/q; the original samples again
    until one is accepted. Here the number of candidates is fixed, and if all are rejected, the
    token is sampled from p. Proof: a candidate is accepted as x with probability q p/(M q) = p/M,
    so an accepted one follows p; and that all were rejected says nothing about the last draw. Each
    is accepted with probability 1/M.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: 1/M, which is 0 if q misses a token."""
        assert dists.q is not None
        return {"least": (1.0 / max_ratio(dists.p, dists.q)).item()}


class KSeq(Walk):
    """k-SEQ (SpecTr 2310.15141): accept each of k independent draws with min(1, p/(ρ q)).

    With β = Σ min(q, p/ρ), one is accepted with probability P = 1 − (1 − β)^k, and the accepted
    mass at x is min(q, p/ρ) P/β; the rest is sampled from p minus that. It is lossless if that is
    nowhere negative, so for ρ ≥ ρ*, the root of 1 − (1 − β)^k = ρ β; at ρ* the rest is (p − ρ q)₊.
    Proof: accepted mass plus the rest is p, token by token. The published bound: within 1 − 1/e of
    optimal.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: ρ*."""
        assert dists.q is not None
        p, q = to_host(dists.p, dists.q)
        return {"rho": least_rho(p, q, candidates)}

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Implement `Walk.final_probs`: (p − ρ q)₊."""
        assert dists.q is not None
        return normalize((dists.p - extra["rho"] * dists.q).clamp(min=0.0), dists.p)


def acceptance_of_one(p: Tensor, q: Tensor, rho: float) -> Tensor:
    """Return β(ρ) = Σ min(q, p/ρ) over the last axis: the probability to accept one candidate."""
    return torch.minimum(q, p / rho).sum(dim=-1)


def least_rho(p: Tensor, q: Tensor, candidates: int) -> float:
    """Return ρ*, the least ρ from 1 to k with 1 − (1 − β)^k ≤ ρ β, so no residual is negative.

    Found by false position (Illinois): about ten sums over the vocabulary.
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
    """Return by how much the accepted mass would exceed p; above 0 below ρ*."""
    beta = acceptance_of_one(p, q, rho).item()
    return float(1.0 - (1.0 - beta) ** candidates - rho * beta)


def k_seq_residual(p: Tensor, q: Tensor, rho: float, candidates: int) -> Tensor:
    """Return p − min(q, p/ρ) P/β (V,), not normalized; partly negative below ρ*."""
    beta = acceptance_of_one(p, q, rho)
    any_accepted = 1.0 - (1.0 - beta) ** candidates
    return p - torch.minimum(q, p / rho) * torch.where(beta > 0, any_accepted / beta, beta)
