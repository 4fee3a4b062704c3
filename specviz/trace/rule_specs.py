"""Verification rules: what each guarantees, which candidates it needs, and its threshold.

A rule must match the way the candidates were sampled, see `rule_choice`. A candidate is accepted if
its u is below the threshold. Rules compute thresholds with these functions, and `check` uses them
to verify the results. The test is u < threshold: with u <= threshold, u = 0 would accept a token of
probability zero. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Drawn(Enum):
    """How the children of a node were chosen."""

    SAMPLED = "sampled"  # independently, each from q
    WITHOUT_REPLACEMENT = "without-replacement"  # each from q without the earlier siblings
    POINT_MASS = "point-mass"  # without randomness: argmax, top-k, lookup


class Cut(Enum):
    """What decided where a draft ends, or which of its candidates are left out."""

    BEFORE_SAMPLING = "before-sampling"  # known before the candidate was sampled
    AFTER_SAMPLING = "after-sampling"  # the candidate itself; the rest are not samples of q


class AfterRejection(Enum):
    """The distribution that is used after a candidate was rejected."""

    RESIDUAL = "residual"  # (p − q)₊ scaled to sum to 1; without q, p without the candidate
    ITSELF = "itself"  # p unchanged
    TOP = "top"  # p for the next candidate; only the top token for the round's last token
    BEYOND = "beyond"  # p for the next candidate; (p − ρ q)₊ for the round's last token


@dataclass(frozen=True, slots=True)
class RuleParameter:
    """A parameter that can be set for a rule.

    Attributes:
        name: Its name.
        default: Its default.
        least: Its lower limit.
        most: Its upper limit.
        meaning: What the parameter does, as a clause.
        whole: Whether it is a whole number.
    """

    name: str
    default: float
    least: float
    most: float
    meaning: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """The requirements and guarantees of a rule.

    Attributes:
        name: The rule's name.
        accepts: The kinds of candidates for which the guarantee holds.
        lossless: Whether the text follows the target's distribution.
        temperature_zero: Whether it requires temperature 0, where p is one-hot.
        reads_q: Whether its test needs q.
        after_rejection: The distribution that is used after a rejection.
        extra_inputs: Inputs of the test other than p and q of the candidate.
        parameters: The parameters that can be set.
        tradeoff: For a lossy rule, a sentence on what it does and what is lost.
        leaf_first: Whether the rule judges from the leaf up; accepting a guess then accepts its
            ancestors.
        chains_only: Whether the rule supports only chains, no siblings.
        has_alpha: Whether α can be computed from the overlap of p and q, or from the candidates' p.
    """

    name: str
    accepts: frozenset[Drawn]
    lossless: bool
    temperature_zero: bool
    reads_q: bool
    after_rejection: AfterRejection = AfterRejection.RESIDUAL
    extra_inputs: frozenset[str] = frozenset()
    parameters: tuple[RuleParameter, ...] = ()
    tradeoff: str = ""
    leaf_first: bool = False
    chains_only: bool = False
    has_alpha: bool = False

    def defaults(self) -> dict[str, float]:
        """Return the parameters' defaults by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}


ALL_KINDS = frozenset(Drawn)
SAMPLED, REPLACED = frozenset({Drawn.SAMPLED}), frozenset({Drawn.WITHOUT_REPLACEMENT})
WITH_Q = SAMPLED | REPLACED
LENIENCE = RuleParameter("lenience", 0.5, 0.01, 1, "factor on q in the test")
WEIGHT = RuleParameter("weight", 0.9, 0, 1, "the target's share in the mean of p and q")
EPSILON = RuleParameter("epsilon", 0.09, 0, 1, "a token above this probability always passes")
DELTA = RuleParameter("delta", 0.3, 0, 1, "the threshold is at most this times e^−entropy")
MARGIN = RuleParameter("margin", 0.6, 0, 1, "how far below the top token's p a token may lie")
AMONG = RuleParameter(
    "among", 10, 1, 1000, "the guess must be one of this many likeliest tokens", whole=True
)
SINGLE = RuleParameter("single", 0.2, 0.001, 1, "a guess with at least this p always passes")
WINDOW = RuleParameter(
    "window", 3, 1, 16, "how many of the next guesses must pass their own test", whole=True
)
LIMIT = RuleParameter("limit", 0.3, 0, 1.1, "the entropy from which a rejection may be overruled")
TOGETHER = RuleParameter("together", 0.8, 0.001, 1, "divides the summed p of the candidates")


def _lossless() -> tuple[RuleSpec, ...]:
    exact, itself, beyond = True, AfterRejection.ITSELF, AfterRejection.BEYOND
    return (
        RuleSpec("speculative", SAMPLED, exact, False, True, has_alpha=True),
        RuleSpec("without-replacement", REPLACED, exact, False, True, has_alpha=True),
        RuleSpec("point-mass", ALL_KINDS, exact, False, False, has_alpha=True),
        RuleSpec("greedy", ALL_KINDS, exact, True, False, has_alpha=True),
        RuleSpec("accept-reject", SAMPLED, exact, False, True, itself, frozenset({"least"})),
        RuleSpec("k-seq", SAMPLED, exact, False, True, beyond, frozenset({"rho"})),
        RuleSpec("block", ALL_KINDS, exact, False, True, leaf_first=True, chains_only=True),
        RuleSpec("traversal", ALL_KINDS, exact, False, True, leaf_first=True),
    )


def _lossy() -> tuple[RuleSpec, ...]:
    return (
        RuleSpec(
            "lenience", WITH_Q, False, False, True, parameters=(LENIENCE,),
            tradeoff="It accepts a guess with probability min(1, p/(l q)) for a lenience l below "
            "1, so tokens that the drafter prefers come more often than with the target alone.",
        ),
        RuleSpec(
            "ensemble", WITH_Q, False, False, True, parameters=(WEIGHT,),
            tradeoff="It uses w p + (1 − w) q instead of p, so the text follows a weighted mean of "
            "both models' distributions, not the target's.",
        ),
        RuleSpec(
            "typical", ALL_KINDS, False, False, False, AfterRejection.TOP, frozenset({"entropy"}),
            parameters=(EPSILON, DELTA),
            tradeoff="It accepts every guess whose probability is above a threshold; the threshold "
            "is lower where the target is unsure. If no guess passes, it takes the target's top "
            "token. Nothing is random, and rare tokens are lost.",
        ),
        RuleSpec(
            "relaxed", ALL_KINDS, False, False, False, AfterRejection.TOP,
            frozenset({"top", "rank"}), parameters=(AMONG, MARGIN),
            tradeoff="It accepts a guess that is among the target's most probable tokens and not "
            "far below the top one, and otherwise takes the top token: greedy decoding, relaxed.",
        ),
        RuleSpec(
            "thresholds", ALL_KINDS, False, False, False, extra_inputs=frozenset({"before"}),
            parameters=(SINGLE, TOGETHER),
            tradeoff="It accepts a guess whose probability reaches a threshold, and divides the "
            "others' probabilities by a number below 1, so guessed tokens come more often than "
            "with the target alone.",
        ),
        RuleSpec(
            "fly", ALL_KINDS, False, False, True,
            extra_inputs=frozenset({"top_entropy", "following"}),
            parameters=(WINDOW, LIMIT), chains_only=True,
            tradeoff="It overrules a rejection where the target is unsure and the next guesses "
            "pass their own tests, so text that the drafter prefers comes more often than with "
            "the target alone.",
        ),
        RuleSpec(
            "unverified", ALL_KINDS, False, False, False,
            tradeoff="It accepts every guess untested: the text is the drafter's, except for one "
            "token of each round.",
        ),
    )  # fmt: skip


RULE_SPECS: Mapping[str, RuleSpec] = {spec.name: spec for spec in (*_lossless(), *_lossy())}


def parse_rule(text: str) -> tuple[str, dict[str, float]]:
    """Parse a rule's name and parameters, such as "typical" or "typical:0.09,0.3".

    Raises:
        ValueError: If a parameter is not a number, not whole although it counts something, or out
            of range, or if there are too many of them.
    """
    name, _, given = text.partition(":")
    parameters = RULE_SPECS[name].parameters if name in RULE_SPECS else ()
    numbers = given.split(",") if given else []
    if len(numbers) > len(parameters) and (name in RULE_SPECS or name == "auto"):
        takes = ", ".join(parameter.name for parameter in parameters) or "no number"
        raise ValueError(f"The rule {name!r} takes {takes}, not {given!r:.40}.")
    chosen = RULE_SPECS[name].defaults() if name in RULE_SPECS else {}
    for parameter, number in zip(parameters, numbers, strict=False):
        chosen[parameter.name] = _number(name, parameter, number)
    return name, chosen


def _number(rule: str, parameter: RuleParameter, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    fits = parameter.least <= value <= parameter.most
    if not fits or (parameter.whole and not value.is_integer()):
        kind = "a whole number " if parameter.whole else ""
        raise ValueError(
            f"The {parameter.name} of the rule {rule!r} must be {kind}between {parameter.least:g} "
            f"and {parameter.most:g}, not {text!r:.40}."
        )
    return value


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
        inputs: `reach`, the share of q on the path to the node that p covers; if there are guesses
            under the node, also `left`, the sum of (reach · p − q)₊.
    """
    reach, left = inputs["reach"], inputs.get("left")
    if left is None:
        return min(1.0, reach)
    beyond = 1.0 - reach  # computed first, so that a reach of exactly 1 gives 1
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
    """Return 1 if p ≥ `single`, otherwise p relative to what remains of `together`. SGLang.

    SGLang tests all siblings with one u and accepts the first one for which the sum of p up to it,
    divided by `together`, is at least u. The probability of this, given that the earlier siblings
    were rejected, is returned here.

    Args:
        inputs: p, in the distribution without the earlier siblings; before, the total probability
            of those siblings; single; together.
    """
    left, together = 1.0 - inputs["before"], inputs["together"] - inputs["before"]
    own = inputs["p"] * left
    if own >= inputs["single"]:
        return 1.0
    if own <= 0.0:
        return 0.0
    return min(1.0, own / together) if together > 0.0 else 1.0


def fly_own_threshold(inputs: Mapping[str, float]) -> float:
    """Return the probability of the guess's own test: min(1, p/q), or p if it was not sampled."""
    return speculative_threshold(inputs) if "q" in inputs else point_mass_threshold(inputs)


def fly_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1 if FLy (2511.22972) would overrule a rejection, else `fly_own_threshold`.

    Args:
        inputs: p; q if the guess was sampled; top_entropy, −Σ p ln p of the three likeliest tokens
            in nats; following, how many of the next guesses pass in a row; window; limit.
    """
    unsure = inputs["p"] > 0.0 and inputs["top_entropy"] >= inputs["limit"]
    overruled = unsure and inputs["following"] >= inputs["window"]
    return 1.0 if overruled else fly_own_threshold(inputs)


def unverified_threshold(inputs: Mapping[str, float]) -> float:
    """Return 1: every candidate is accepted."""
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
    "fly": fly_threshold,
    "unverified": unverified_threshold,
}


def probability_any_accepted(tries: Sequence[Sequence[float]]) -> float:
    """Return 1 − Π(1 − min(1, pᵢ/qᵢ)), the probability that one of the siblings is accepted.

    It is exact for given siblings; its mean over all samples is the rule's acceptance probability.

    Args:
        tries: p and q of each sibling in order, after the rejections before it.
    """
    return 1.0 - math.prod(1.0 - speculative_threshold({"p": p, "q": q}) for p, q in tries)
