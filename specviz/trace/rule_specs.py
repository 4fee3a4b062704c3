"""The guarantees of each verification rule and the candidates it needs, for rules and `check`.

A rule must match the way the candidates were sampled; this table says which rule matches which.
Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from specviz.settings.settings import Sampling


class Drawn(Enum):
    """How the children of a node were chosen."""

    SAMPLED = "sampled"  # independently, each from q
    WITHOUT_REPLACEMENT = "without-replacement"  # one by one, each from q without earlier ones
    POINT_MASS = "point-mass"  # without randomness: argmax, top-k, lookup


class AfterRejection(Enum):
    """The distribution that follows a rejected candidate."""

    RESIDUAL = "residual"  # (p − q)₊ scaled to 1; without q, p without the candidate
    ITSELF = "itself"  # p unchanged
    TOP = "top"  # p for the next candidate; only the top token for the round's last token
    BEYOND = "beyond"  # p for the next candidate; (p − ρ q)₊ for the round's last token


@dataclass(frozen=True, slots=True)
class RuleParameter:
    """A number that can be set for a rule.

    Attributes:
        name: Its name.
        default: Its default.
        least: Its lower limit.
        most: Its upper limit.
        meaning: What it does, as a clause.
    """

    name: str
    default: float
    least: float
    most: float
    meaning: str


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """The requirements and guarantees of a rule.

    Attributes:
        name: The rule's name.
        accepts: The kinds of candidates for which the guarantee holds.
        lossless: Whether the text follows the target's distribution.
        temperature_zero: Whether it requires temperature 0, where p is one-hot.
        reads_q: Whether its test needs q.
        after_rejection: The distribution that follows a rejection.
        extra_inputs: Inputs of the test beyond p and q of the candidate.
        parameters: The numbers that can be set.
        tradeoff: For a lossy rule, a sentence on what it does and what is lost.
        leaf_first: Whether it judges a branch from its end; an accepted guess then accepts its
            ancestors.
        has_alpha: Whether α follows from the overlap of p and q, or from the candidates' p.
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
    has_alpha: bool = False

    def defaults(self) -> dict[str, float]:
        """Return the parameters' defaults by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}


ALL_KINDS = frozenset(Drawn)
SAMPLED, REPLACED = frozenset({Drawn.SAMPLED}), frozenset({Drawn.WITHOUT_REPLACEMENT})
WITH_Q = SAMPLED | REPLACED
LENIENCE = RuleParameter("lenience", 0.5, 0.01, 1, "q is multiplied by it in the test")
WEIGHT = RuleParameter("weight", 0.9, 0, 1, "the target's share in the mean of p and q")
EPSILON = RuleParameter("epsilon", 0.09, 0, 1, "a token above this probability always passes")
DELTA = RuleParameter("delta", 0.3, 0, 1, "the threshold is this times e^−entropy if that is less")
MARGIN = RuleParameter("margin", 0.6, 0, 1, "how far below the top token's p a token may lie")
AMONG = RuleParameter("among", 10, 1, 1000, "how many of the most probable tokens it must be among")
SINGLE = RuleParameter("single", 0.2, 0.001, 1, "a guess with at least this p always passes")
TOGETHER = RuleParameter("together", 0.8, 0.001, 1, "the candidates' summed p is divided by it")


def _lossless() -> tuple[RuleSpec, ...]:
    """Return the rules whose text follows the target's distribution."""
    exact, itself, beyond = True, AfterRejection.ITSELF, AfterRejection.BEYOND
    return (
        RuleSpec("speculative", SAMPLED, exact, False, True, has_alpha=True),
        RuleSpec("without-replacement", REPLACED, exact, False, True, has_alpha=True),
        RuleSpec("point-mass", ALL_KINDS, exact, False, False, has_alpha=True),
        RuleSpec("greedy", ALL_KINDS, exact, True, False, has_alpha=True),
        RuleSpec("accept-reject", SAMPLED, exact, False, True, itself, frozenset({"least"})),
        RuleSpec("k-seq", SAMPLED, exact, False, True, beyond, frozenset({"rho"})),
        RuleSpec("block", ALL_KINDS, exact, False, True, leaf_first=True),
        RuleSpec("traversal", ALL_KINDS, exact, False, True, leaf_first=True),
    )


def _lossy() -> tuple[RuleSpec, ...]:
    """Return the rules that give up the target's distribution for speed."""
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
            tradeoff="It accepts every guess whose probability is above a threshold, which is "
            "lower where the target is unsure, and otherwise takes the target's top token. Nothing "
            "is random, and rare words are lost.",
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
            "unverified", ALL_KINDS, False, False, False,
            tradeoff="It accepts every guess unchecked: the text is the drafter's, except for one "
            "token of each round.",
        ),
    )  # fmt: skip


RULE_SPECS: Mapping[str, RuleSpec] = {spec.name: spec for spec in (*_lossless(), *_lossy())}


def parse_rule(text: str) -> tuple[str, dict[str, float]]:
    """Parse a rule's name and parameters, like "typical" or "typical:0.09,0.3".

    Raises:
        ValueError: If a parameter is not a number or out of range, or there are too many of them.
    """
    name, _, given = text.partition(":")
    parameters = RULE_SPECS[name].parameters if name in RULE_SPECS else ()
    numbers = given.split(",") if given else []
    if len(numbers) > len(parameters) and name in RULE_SPECS:
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
    if not parameter.least <= value <= parameter.most:
        raise ValueError(
            f"The {parameter.name} of the rule {rule!r} must be between {parameter.least:g} and "
            f"{parameter.most:g}, not {text!r:.40}."
        )
    return value


CANDIDATE_KINDS = {
    Drawn.SAMPLED: "candidates sampled independently from q",
    Drawn.WITHOUT_REPLACEMENT: "candidates sampled from q without replacement",
    Drawn.POINT_MASS: "candidates chosen without randomness (a point mass, which has no q)",
}


def select_rule(drawn: Drawn, sampling: Sampling) -> str:
    """Return the name of the rule that "auto" means."""
    if sampling.greedy:
        return "greedy"
    return "speculative" if drawn is Drawn.SAMPLED else drawn.value


def refuse_rule(rule: RuleSpec, drawn: Drawn, sampling: Sampling) -> str | None:
    """Return why a rule would not keep the target's distribution on these candidates, or None.

    A lossy rule is refused only if it cannot judge them at all.
    """
    if rule.temperature_zero and not sampling.greedy:
        return (
            f"The rule {rule.name!r} accepts only the target's top token, so at temperature "
            f"{sampling.temperature:g} its text would not follow the target's distribution. "
            "Use temperature 0 or another rule."
        )
    if drawn not in rule.accepts and not rule.lossless:
        return (
            f"The rule {rule.name!r} divides by q; this drafter proposes {CANDIDATE_KINDS[drawn]}. "
            "Use another rule, or a drafter that samples."
        )
    if drawn not in rule.accepts:
        needed = " or ".join(sorted(CANDIDATE_KINDS[d] for d in rule.accepts))
        return (
            f"The rule {rule.name!r} needs {needed}; this drafter proposes "
            f"{CANDIDATE_KINDS[drawn]}. Together they would not be lossless."
        )
    return None
