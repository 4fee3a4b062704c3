"""The acceptance threshold of each rule: a candidate is accepted if its u is below this number.

Rules judge with these functions, and `check` uses them to repeat the judgement. The test is strict,
u < threshold: with u <= threshold, u = 0 would accept a token of probability zero. Standard library
only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

ThresholdFunction = Callable[[Mapping[str, float]], float]


def greedy_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1 if the candidate is the target's top token, else 0. Reads p, which is one-hot."""
    return 1.0 if inputs["p"] >= 1.0 else 0.0


def speculative_threshold(inputs: Mapping[str, float]) -> float:
    """Return min(1, p/q) for a candidate sampled from q. Reads p and q.

    Leviathan et al. 2211.17192, Chen et al. 2302.01318. For later siblings, p (and q, without
    replacement) are the residuals after the earlier rejections: 2305.09781, 2402.14160.
    """
    p, q = inputs["p"], inputs["q"]
    if q <= 0.0:
        return 1.0 if p > 0.0 else 0.0
    return min(1.0, p / q)


def point_mass_threshold(inputs: Mapping[str, float]) -> float:
    """Return p for a candidate that was not sampled, since its q is 1. Reads p."""
    return min(1.0, inputs["p"])


def accept_reject_threshold(inputs: Mapping[str, float]) -> float:
    """Return p/(M q), where M is the largest p/q of all tokens. Reads p, q, and least = 1/M.

    Von Neumann 1951. If q misses a token that p has, least is 0 and nothing is accepted.
    """
    p, q, least = inputs["p"], inputs["q"], inputs["least"]
    return min(1.0, least * p / q) if q > 0.0 else 0.0


def k_seq_threshold(inputs: Mapping[str, float]) -> float:
    """Return min(1, p/(ρ q)), the same for every sibling. Reads p, q and rho. 2310.15141."""
    return speculative_threshold({"p": inputs["p"], "q": inputs["rho"] * inputs["q"]})


def leaf_first_threshold(inputs: Mapping[str, float]) -> float:
    """Return the probability of accepting a node after everything below it was rejected.

    For block and traversal verification, Sun et al. 2403.10444 and 2505.12398.

    Args:
        inputs: `reach`, the share of q that the path to the node may claim; if the node has guesses
            below it also `left`, the mass by which reach · p exceeds q.
    """
    reach, left = inputs["reach"], inputs.get("left")
    if left is None:
        return min(1.0, reach)
    beyond = 1.0 - reach  # computed first, so that a reach of 1 gives exactly 1
    return min(1.0, left / (left + beyond)) if left + beyond > 0.0 else 1.0


def lenience_threshold(inputs: Mapping[str, float]) -> float:
    """Return min(1, p/(l q)). Reads p, q and lenience. Leviathan et al. 2211.17192, appendix."""
    return speculative_threshold({"p": inputs["p"], "q": inputs["lenience"] * inputs["q"]})


def ensemble_threshold(inputs: Mapping[str, float]) -> float:
    """Return min(1, v/q) with v = w p + (1 − w) q. Reads p, q and weight.

    `assistant_ensemble_weight` of transformers. Since v − q = w (p − q), the residual is the same
    as without the ensemble.
    """
    p, q, weight = inputs["p"], inputs["q"], inputs["weight"]
    return speculative_threshold({"p": weight * p + (1.0 - weight) * q, "q": q})


def typical_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1 if p > min(ε, δ e^−H), else 0. Reads p, entropy (of p, in nats), epsilon and delta.

    Typical acceptance of Medusa, 2401.10774.
    """
    limit = min(inputs["epsilon"], inputs["delta"] * math.exp(-inputs["entropy"]))
    return 1.0 if inputs["p"] > limit else 0.0


def relaxed_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1 if the token is among the top N and p ≥ p_max − Δ, else 0. TensorRT-LLM.

    Args:
        inputs: p, top (p_max), rank (from 1), among (N) and margin (Δ).
    """
    near = inputs["p"] >= inputs["top"] - inputs["margin"]
    return 1.0 if near and inputs["rank"] <= inputs["among"] else 0.0


def two_thresholds(inputs: Mapping[str, float]) -> float:
    """Return 1 if p reaches `single`, else its share of `together`. SGLang.

    SGLang tries all siblings with one u and accepts the first whose summed p over `together` is at
    least u. Given that the earlier siblings were rejected, that is the probability returned here.

    Args:
        inputs: p, in the distribution after the earlier siblings were removed; before, the total
            probability of those siblings; single; together.
    """
    left, together = 1.0 - inputs["before"], inputs["together"] - inputs["before"]
    own = inputs["p"] * left
    if own >= inputs["single"]:
        return 1.0
    if own <= 0.0:
        return 0.0
    return min(1.0, own / together) if together > 0.0 else 1.0


def unverified_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1: no verification."""
    return 1.0


THRESHOLDS: Mapping[str, ThresholdFunction] = {
    "greedy": greedy_threshold,
    "speculative": speculative_threshold,
    "without-replacement": speculative_threshold,
    "point-mass": point_mass_threshold,
    "accept-reject": accept_reject_threshold,
    "k-seq": k_seq_threshold,
    "block": leaf_first_threshold,
    "traversal": leaf_first_threshold,
    "lenience": lenience_threshold,
    "ensemble": ensemble_threshold,
    "typical": typical_threshold,
    "relaxed": relaxed_threshold,
    "thresholds": two_thresholds,
    "unverified": unverified_threshold,
}


def probability_any_accepted(tries: Sequence[Sequence[float]]) -> float:
    """Return 1 − Π(1 − min(1, pᵢ/qᵢ)), the probability that a sampled sibling is accepted.

    It is exact given the candidates; its mean over their draws is the rule's acceptance.

    Args:
        tries: (p, q) of each sibling in order, after the rejections before it.
    """
    return 1.0 - math.prod(1.0 - speculative_threshold({"p": p, "q": q}) for p, q in tries)
