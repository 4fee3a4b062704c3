"""The output of one position by formula, and the highest acceptance that any rule could reach.

`closed_form` takes O(V) or O(k V) steps, for vocabularies of real models. p and q must be
normalized float64 distributions (`distributions.as_distribution`); then rounding errors are below
1e-15, and any larger difference from p is an error of the rule. Candidates are sampled
independently from q. For a point mass, `enumeration.enumerate_position` is as fast, since only one
proposal is possible.

`acceptance_ceiling` is for small vocabularies. A lossless rule is a coupling of the candidates with
an output token that follows p; α* is the largest probability, over all couplings, that the token is
one of the candidates. This is a linear program. By its dual, a minimum cut (Hu et al. 2502.18779),
α* is the minimum, over all sets H of tokens, of p(H) + 1 − P(all candidates are in H). It is an
upper bound because an accepted token is either in H, with probability at most p(H), or some
candidate is outside H. All 2^V sets are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn, parse_rule
from specviz.verification.distributions import overlap, residual
from specviz.verification.exact.enumeration import PositionResult
from specviz.verification.lossy import entropy, one_hot_top
from specviz.verification.rules import acceptance_of_one, least_rho, max_ratio

Parameters = Mapping[str, float]


def closed_form(rule: str, p: Tensor, q: Tensor, candidates: int = 1) -> PositionResult:
    """Return the output distribution of a rule at one position.

    Raises ValueError if there is no formula, as for most rules with several candidates. Use
    enumeration over a smaller vocabulary instead.

    Args:
        rule: The rule as a text for `parse_rule`.
        p: The target's distribution (V,), float64.
        q: The draft's distribution (V,), float64.
        candidates: The number of candidates.
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
    """Return the result of speculative sampling with k independent candidates, in k steps."""
    draft, alive, left = torch.zeros_like(p), p.new_ones(()), p
    for _ in range(candidates):
        draft = draft + alive * torch.minimum(left, q)
        alive = alive * (1.0 - overlap(left, q)).clamp(min=0.0)
        left = residual(left, q)
    return PositionResult(p, draft, alive * left)


def accept_reject(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Return the result of accept-reject with k candidates; after k rejections, p is sampled."""
    any_accepted = 1.0 - (1.0 - 1.0 / max_ratio(p, q)) ** candidates
    return PositionResult(p, p * any_accepted, p * (1.0 - any_accepted))


def k_seq(p: Tensor, q: Tensor, candidates: int) -> PositionResult:
    """Return the result of k-SEQ at ρ*: min(q, p/ρ) P/β is accepted, (p − ρ q)₊ is sampled."""
    rho = least_rho(p, q, candidates)
    beta = acceptance_of_one(p, q, rho)
    any_accepted = 1.0 - (1.0 - beta) ** candidates
    draft = torch.minimum(q, p / rho) * torch.where(beta > 0, any_accepted / beta, beta)
    return PositionResult(p, draft, (1.0 - any_accepted) * residual(p, rho * q))


def acceptance_ratio(p: Tensor, q: Tensor, lenience: float = 1.0) -> Tensor:
    """Return min(1, p/(l q)) token by token; 1 if q is 0, where nothing is sampled."""
    return torch.where(q > 0, p / (lenience * q), torch.ones_like(p)).clamp(max=1.0)


def typical(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 for tokens with p > min(ε, δ e^−H(p)), otherwise 0."""
    limit = torch.clamp(parameters["delta"] * torch.exp(-entropy(p)), max=parameters["epsilon"])
    return (p > limit).to(p.dtype)


def relaxed(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 for tokens that are among the top N and have p ≥ p_max − Δ, otherwise 0."""
    count = min(int(parameters["among"]), len(p))
    least = torch.maximum(p.topk(count).values[-1], p.max() - parameters["margin"])
    return (p >= least).to(p.dtype)


def thresholds(p: Tensor, parameters: Parameters) -> Tensor:
    """Return 1 for tokens with p ≥ `single`, otherwise p/`together`."""
    return torch.where(p >= parameters["single"], 1.0, (p / parameters["together"]).clamp(max=1.0))


def from_residual(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the output (V,) that replaces rejected mass (V,): samples from (p − q)₊."""
    return rejected.sum() * residual(p, q)


def from_masked(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the output (V,) that replaces rejected mass (V,): samples from p without x."""
    share = torch.where(p < 1.0, rejected / (1.0 - p), torch.zeros_like(p))
    return p * (share.sum() - share)


def from_top(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Return the output (V,) that replaces rejected mass (V,): always the top token."""
    return rejected.sum() * one_hot_top(p)


SeveralResult = Callable[[Tensor, Tensor, int], PositionResult]
Accept = Callable[[Tensor, Tensor, Parameters], Tensor]
Replace = Callable[[Tensor, Tensor, Tensor], Tensor]
SEVERAL_CANDIDATES: Mapping[str, SeveralResult] = {
    "speculative": recursive,
    "accept-reject": accept_reject,
    "k-seq": k_seq,
}
ONE_CANDIDATE: Mapping[
    str, tuple[Accept, Replace]
] = {  # two functions: the probability of accepting each token, and the output after a rejection
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
    # FLy overrules a rejection only if later guesses pass, and a single guess has none after it.
    "fly": (lambda p, q, parameters: acceptance_ratio(p, q), from_residual),
    "typical": (lambda p, q, parameters: typical(p, parameters), from_top),
    "relaxed": (lambda p, q, parameters: relaxed(p, parameters), from_top),
    "thresholds": (lambda p, q, parameters: thresholds(p, parameters), from_masked),
    "unverified": (lambda p, q, parameters: torch.ones_like(p), from_residual),
}


MAX_VOCABULARY: Final = 16  # number of tokens; 2^16 = 65,536 sets are tried


def acceptance_ceiling(p: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> float:
    """Return α*, the highest probability that any lossless rule accepts one of the candidates.

    Raises ValueError if the vocabulary is larger.

    Args:
        p: The target's distribution (V,), V at most MAX_VOCABULARY.
        q: The draft's distribution (V,).
        drawn: How the candidates are sampled.
        candidates: Number of candidates.
    """
    size = len(p)
    if size > MAX_VOCABULARY:
        raise ValueError(
            f"The ceiling can be computed for at most {MAX_VOCABULARY} tokens, not {size:,}."
        )
    sets = torch.arange(2**size)
    members = ((sets[:, None] >> torch.arange(size)) & 1).to(torch.float64)
    inside = all_inside(members, q.double(), drawn, candidates)
    return min(1.0, (members @ p.double() + 1.0 - inside).min().item())


def all_inside(members: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> Tensor:
    """Return each set's probability to have all candidates; members: (sets, V), 0 or 1."""
    if drawn is Drawn.SAMPLED:
        return (members @ q) ** candidates
    if drawn is Drawn.POINT_MASS:
        top = q.sort(descending=True, stable=True).indices[:candidates]
        return members[:, top].prod(dim=-1)
    chances = [_all_in(set_, q.tolist(), candidates) for set_ in members.tolist()]
    return torch.tensor(chances, dtype=torch.float64)


def _all_in(members: Sequence[float], q: Sequence[float], candidates: int) -> float:
    # Tracks the probability of each possible combination of drawn tokens. If no token is left, the
    # last one is repeated, so the combination does not change.
    by_drawn = {frozenset[int](): 1.0}
    for _ in range(candidates):
        after: dict[frozenset[int], float] = {}
        for drawn, probability in by_drawn.items():
            left = sum(share for token, share in enumerate(q) if token not in drawn)
            if left <= 0.0:
                after[drawn] = after.get(drawn, 0.0) + probability
                continue
            for token, share in enumerate(q):
                if members[token] and share and token not in drawn:
                    grown = drawn | {token}
                    after[grown] = after.get(grown, 0.0) + probability * share / left
        by_drawn = after
    return sum(by_drawn.values())
