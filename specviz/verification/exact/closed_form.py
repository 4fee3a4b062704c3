"""The output of one position by formula: O(V) or O(k V), for the vocabularies of real models.

One rule: p and q are float64 laws before any test (`laws.as_distribution`); then what is left between the
output and p is 1e-15, and whatever is more is loss. Candidates are drawn independently from q;
fixed ones have one proposal only, so `enumeration.enumerate_position` is as quick for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from specviz.trace.rule_specs import parse_rule
from specviz.verification.distributions import overlap, residual
from specviz.verification.exact.enumeration import PositionResult
from specviz.verification.lossy import entropy, one_hot_top
from specviz.verification.siblings import acceptance_of_one, least_rho, max_ratio

Parameters = Mapping[str, float]


def closed_form(rule: str, p: Tensor, q: Tensor, candidates: int = 1) -> PositionResult:
    """What a rule makes of one position. rule: as `parse_rule` reads it. p, q: laws (V,) in float64.

    Raises ValueError where there is no formula: for several candidates of most rules, and for rules
    that judge other candidates; enumerate those over a smaller vocabulary.
    """
    name, dials = parse_rule(rule)
    if name in SEVERAL_CANDIDATES:
        return SEVERAL_CANDIDATES[name](p, q, candidates)
    if name not in ONE_CANDIDATE or candidates != 1:
        many = f"{candidates} candidates" if candidates != 1 else "a sampled candidate"
        raise ValueError(f"There is no formula for the rule {name!r} with {many}.")
    keeps, rest = ONE_CANDIDATE[name]
    kept = q * keeps(p, q, dials)
    return PositionResult(p, kept, rest(p, q, (q - kept).clamp(min=0.0)))


def recursive(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Speculative sampling with k independent candidates: each rejection leaves a residual.

    The residual does not depend on which token fell, so k steps of the one-candidate law do.
    """
    draft, alive, left = torch.zeros_like(p), p.new_ones(()), p
    for _ in range(candidates):
        draft = draft + alive * torch.minimum(left, q)
        alive = alive * (1.0 - overlap(left, q)).clamp(min=0.0)
        left = residual(left, q)
    return PositionResult(p, draft, alive * left)


def accept_reject(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Von Neumann's with k candidates, then p itself; his redraws end with p all the same."""
    kept = 1.0 - (1.0 - 1.0 / max_ratio(p, q)) ** candidates
    return PositionResult(p, p * kept, p * (1.0 - kept))


def k_seq(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """k-SEQ at ρ*: what is kept is min(q, p/ρ) P/β, what is left (p − ρ q)₊."""
    rho = least_rho(p, q, candidates)
    beta = acceptance_of_one(p, q, rho)
    kept = 1.0 - (1.0 - beta) ** candidates
    draft = torch.minimum(q, p / rho) * torch.where(beta > 0, kept / beta, beta)
    return PositionResult(p, draft, (1.0 - kept) * residual(p, rho * q))


def acceptance_ratio(p: Tensor, q: Tensor, lenience: float = 1.0) -> Tensor:
    """min(1, p/(l q)), token by token; 1 where q has no mass, since nothing is drawn there."""
    return torch.where(q > 0, p / (lenience * q), torch.ones_like(p)).clamp(max=1.0)


def typical(p: Tensor, dials: Parameters) -> Tensor:
    """1 where p > min(ε, δ e^−H), else 0."""
    bar = torch.clamp(dials["delta"] * torch.exp(-entropy(p)), max=dials["epsilon"])
    return (p > bar).to(p.dtype)


def relaxed(p: Tensor, dials: Parameters) -> Tensor:
    """1 where a token is among the top N and p ≥ p_max − Δ, else 0."""
    many = min(int(dials["among"]), len(p))
    least = torch.maximum(p.topk(many).values[-1], p.max() - dials["margin"])
    return (p >= least).to(p.dtype)


def thresholds(p: Tensor, dials: Parameters) -> Tensor:
    """1 where p reaches `single`, else its share of `together`."""
    return torch.where(p >= dials["single"], 1.0, (p / dials["together"]).clamp(max=1.0))


def from_residual(p: Tensor, q: Tensor, fell: Tensor) -> Tensor:
    """What comes of fallen mass (V,) where a rejection leaves (p − q)₊."""
    return fell.sum() * residual(p, q)


def from_masked(p: Tensor, q: Tensor, fell: Tensor) -> Tensor:
    """What comes of fallen mass (V,) where a rejection of x leaves p without x."""
    share = torch.where(p < 1.0, fell / (1.0 - p), torch.zeros_like(p))
    return p * (share.sum() - share)


def from_top(p: Tensor, q: Tensor, fell: Tensor) -> Tensor:
    """What comes of fallen mass (V,) where a rejection leaves the top token."""
    return fell.sum() * one_hot_top(p)


Several = Callable[[Tensor, Tensor, int], PositionResult]
Keeps = Callable[[Tensor, Tensor, Parameters], Tensor]
Rest = Callable[[Tensor, Tensor, Tensor], Tensor]
SEVERAL_CANDIDATES: Mapping[str, Several] = {
    "speculative": recursive,
    "accept-reject": accept_reject,
    "k-seq": k_seq,
}
ONE_CANDIDATE: Mapping[
    str, tuple[Keeps, Rest]
] = {  # a candidate's chance to be kept, and what replaces it
    "without-replacement": (lambda p, q, dials: acceptance_ratio(p, q), from_residual),
    "block": (lambda p, q, dials: acceptance_ratio(p, q), from_residual),
    "traversal": (lambda p, q, dials: acceptance_ratio(p, q), from_residual),
    "point-mass": (lambda p, q, dials: p, from_masked),
    "lenience": (lambda p, q, dials: acceptance_ratio(p, q, dials["lenience"]), from_residual),
    "ensemble": (
        lambda p, q, dials: acceptance_ratio(dials["weight"] * p + (1.0 - dials["weight"]) * q, q),
        from_residual,
    ),
    "typical": (lambda p, q, dials: typical(p, dials), from_top),
    "relaxed": (lambda p, q, dials: relaxed(p, dials), from_top),
    "thresholds": (lambda p, q, dials: thresholds(p, dials), from_masked),
    "unverified": (lambda p, q, dials: torch.ones_like(p), from_residual),
}
