"""The output of one position by formula, in O(V) or O(k V), for vocabularies of real models.

p and q must be normalized float64 distributions (`inputs.as_distribution`); then rounding
errors stay below 1e-15, and any larger difference from p is a real loss. Candidates are sampled
independently from q. For a point mass, `enumeration.enumerate_position` is as fast, since there is
one proposal.
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
    """Return the output distribution of a rule at one position.

    Args:
        rule: As `parse_rule` reads it.
        p: The target's distribution (V,), float64.
        q: The draft's distribution (V,), float64.
        candidates: The number of candidates.

    Raises:
        ValueError: If there is no formula: for several candidates with most rules, and for rules
            that judge other candidates. Enumerate those over a smaller vocabulary.
    """
    name, parameters = parse_rule(rule)
    if name in SEVERAL_CANDIDATES:
        return SEVERAL_CANDIDATES[name](p, q, candidates)
    if name not in ONE_CANDIDATE or candidates != 1:
        given = f"{candidates} candidates" if candidates != 1 else "a sampled candidate"
        raise ValueError(f"There is no formula for the rule {name!r} with {given}.")
    accept, replace = ONE_CANDIDATE[name]
    accepted = q * accept(p, q, parameters)
    return PositionResult(p, accepted, replace(p, q, (q - accepted).clamp(min=0.0)))


def recursive(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Return the result of speculative sampling with k independent candidates.

    The residual does not depend on which token was rejected, so it takes k steps of the
    one-candidate formula.
    """
    draft, alive, left = torch.zeros_like(p), p.new_ones(()), p
    for _ in range(candidates):
        draft = draft + alive * torch.minimum(left, q)
        alive = alive * (1.0 - overlap(left, q)).clamp(min=0.0)
        left = residual(left, q)
    return PositionResult(p, draft, alive * left)


def accept_reject(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Return the result of accept-reject with k candidates, then p itself."""
    any_accepted = 1.0 - (1.0 - 1.0 / max_ratio(p, q)) ** candidates
    return PositionResult(p, p * any_accepted, p * (1.0 - any_accepted))


def k_seq(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Return the result of k-SEQ at ρ*: min(q, p/ρ) P/β is accepted and (p − ρ q)₊ remains."""
    rho = least_rho(p, q, candidates)
    beta = acceptance_of_one(p, q, rho)
    any_accepted = 1.0 - (1.0 - beta) ** candidates
    draft = torch.minimum(q, p / rho) * torch.where(beta > 0, any_accepted / beta, beta)
    return PositionResult(p, draft, (1.0 - any_accepted) * residual(p, rho * q))


def acceptance_ratio(p: Tensor, q: Tensor, lenience: float = 1.0) -> Tensor:
    """Return min(1, p/(l q)) token by token; 1 if q is 0, where nothing is sampled."""
    return torch.where(q > 0, p / (lenience * q), torch.ones_like(p)).clamp(max=1.0)


def typical(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 if p > min(ε, δ e^−H), else 0."""
    limit = torch.clamp(parameters["delta"] * torch.exp(-entropy(p)), max=parameters["epsilon"])
    return (p > limit).to(p.dtype)


def relaxed(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 if a token is among the top N and p ≥ p_max − Δ, else 0."""
    count = min(int(parameters["among"]), len(p))
    least = torch.maximum(p.topk(count).values[-1], p.max() - parameters["margin"])
    return (p >= least).to(p.dtype)


def thresholds(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 if p reaches `single`, else its share of `together`."""
    return torch.where(p >= parameters["single"], 1.0, (p / parameters["together"]).clamp(max=1.0))


def from_residual(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the tokens that replace rejected mass (V,) if it is sampled from (p − q)₊."""
    return rejected.sum() * residual(p, q)


def from_masked(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the tokens that replace rejected mass (V,) if x is replaced from p without x."""
    share = torch.where(p < 1.0, rejected / (1.0 - p), torch.zeros_like(p))
    return p * (share.sum() - share)


def from_top(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the tokens that replace rejected mass (V,) if it all becomes the top token."""
    return rejected.sum() * one_hot_top(p)


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
    "without-replacement": (lambda p, q, parameters: acceptance_ratio(p, q), from_residual),
    "block": (lambda p, q, parameters: acceptance_ratio(p, q), from_residual),
    "traversal": (lambda p, q, parameters: acceptance_ratio(p, q), from_residual),
    "point-mass": (lambda p, q, parameters: p, from_masked),
    "lenience": (
        lambda p, q, parameters: acceptance_ratio(p, q, parameters["lenience"]),
        from_residual,
    ),
    "ensemble": (
        lambda p, q, parameters: acceptance_ratio(
            parameters["weight"] * p + (1.0 - parameters["weight"]) * q, q
        ),
        from_residual,
    ),
    "typical": (lambda p, q, parameters: typical(p, parameters), from_top),
    "relaxed": (lambda p, q, parameters: relaxed(p, parameters), from_top),
    "thresholds": (lambda p, q, parameters: thresholds(p, parameters), from_masked),
    "unverified": (lambda p, q, parameters: torch.ones_like(p), from_residual),
}
