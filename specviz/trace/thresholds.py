"""Each rule's scalar test: a candidate is kept when its coin u falls below this number.

The rules use these functions to judge and a trace's re-check uses them to judge again, so there is
one of each. The test is strictly u < threshold: with u <= threshold, u = 0 would let in a token of
probability zero. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

ThresholdFunction = Callable[[Mapping[str, float]], float]


def greedy_threshold(inputs: Mapping[str, float]) -> float:
    """Greedy: 1 where the candidate is the target's top token, else 0. inputs: p, one-hot."""
    return 1.0 if inputs["p"] >= 1.0 else 0.0


def speculative_threshold(inputs: Mapping[str, float]) -> float:
    """Speculative sampling: min(1, p/q), for a candidate drawn from q. inputs: p, q.

    Leviathan et al. 2211.17192, Chen et al. 2302.01318. Among siblings p (and, without
    replacement, q) are what the earlier rejections left: 2305.09781, 2402.14160.
    """
    p, q = inputs["p"], inputs["q"]
    if q <= 0.0:
        return 1.0 if p > 0.0 else 0.0
    return min(1.0, p / q)


def point_mass_threshold(inputs: Mapping[str, float]) -> float:
    """Point mass: p itself, since a candidate fixed beforehand has q = 1. inputs: p."""
    return min(1.0, inputs["p"])


def accept_reject_threshold(inputs: Mapping[str, float]) -> float:
    """Accept-reject: p/(M q), where M is the largest p/q of all tokens. inputs: p, q, least = 1/M.

    Von Neumann 1951. Where q misses a token that p has, least is 0, and nothing is kept.
    """
    p, q, least = inputs["p"], inputs["q"], inputs["least"]
    return min(1.0, least * p / q) if q > 0.0 else 0.0


def k_seq_threshold(inputs: Mapping[str, float]) -> float:
    """k-SEQ: min(1, p/(ρ q)), the same for every sibling. inputs: p, q, rho. 2310.15141."""
    return speculative_threshold({"p": inputs["p"], "q": inputs["rho"] * inputs["q"]})


def leaf_first_threshold(inputs: Mapping[str, float]) -> float:
    """Block and traversal verification: what a node is kept with once all below it fell.

    inputs: reach, the share of q that the path to here may claim; left, what p times that share
    has above q, summed (where the node has guesses below it). Sun et al. 2403.10444, 2505.12398.
    """
    reach, left = inputs["reach"], inputs.get("left")
    if left is None:
        return min(1.0, reach)
    beyond = 1.0 - reach  # in one piece, so that a full reach gives a chance of exactly 1
    return min(1.0, left / (left + beyond)) if left + beyond > 0.0 else 1.0


def lenience_threshold(inputs: Mapping[str, float]) -> float:
    """Lenience: min(1, p/(l q)). inputs: p, q, lenience. Leviathan et al. 2211.17192, appendix."""
    return speculative_threshold({"p": inputs["p"], "q": inputs["lenience"] * inputs["q"]})


def ensemble_threshold(inputs: Mapping[str, float]) -> float:
    """Ensemble: min(1, v/q) with v = w p + (1 − w) q. inputs: p, q, weight.

    `assistant_ensemble_weight` of transformers. Since v − q = w (p − q), the residual is as ever.
    """
    p, q, weight = inputs["p"], inputs["q"], inputs["weight"]
    return speculative_threshold({"p": weight * p + (1.0 - weight) * q, "q": q})


def typical_threshold(inputs: Mapping[str, float]) -> float:
    """Typical acceptance: 1 where p > min(ε, δ e^−H), else 0. inputs: p, entropy, epsilon, delta.

    Medusa 2401.10774. entropy: of p, in nats.
    """
    bar = min(inputs["epsilon"], inputs["delta"] * math.exp(-inputs["entropy"]))
    return 1.0 if inputs["p"] > bar else 0.0


def relaxed_threshold(inputs: Mapping[str, float]) -> float:
    """Relaxed acceptance: 1 where the token is among the top N and p ≥ p_max − Δ, else 0.

    inputs: p, top (p_max), rank (from 1), among (N), margin (Δ). TensorRT-LLM.
    """
    near = inputs["p"] >= inputs["top"] - inputs["margin"]
    return 1.0 if near and inputs["rank"] <= inputs["among"] else 0.0


def two_thresholds(inputs: Mapping[str, float]) -> float:
    """Thresholds: 1 where p reaches `single`, else its share of `together`. SGLang.

    inputs: p, among what the siblings before left of the law; before, what those held of it;
    single; together. SGLang walks the siblings with one coin, kept where it is at most their summed
    p over `together`; given that those before fell, that is this chance.
    """
    left, together = 1.0 - inputs["before"], inputs["together"] - inputs["before"]
    own = inputs["p"] * left
    if own >= inputs["single"]:
        return 1.0
    if own <= 0.0:
        return 0.0
    return min(1.0, own / together) if together > 0.0 else 1.0


def unverified_threshold(inputs: Mapping[str, float]) -> float:
    """No verification: 1, whatever the target says. inputs: p, for the reader alone."""
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
    """The chance that one of several sampled siblings is kept: 1 − Π(1 − min(1, pᵢ/qᵢ)).

    tries: (p, q) of each in order, under the laws that the rejections before it leave. Exact given
    the candidates; its mean over their draws is the rule's acceptance.
    """
    return 1.0 - math.prod(1.0 - speculative_threshold({"p": p, "q": q}) for p, q in tries)
