"""What each rule promises, of which candidates: the one table that the rules and a re-check read.

The one idea of the subject: the rule must match the way the candidates were drawn. Standard library
only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from specviz.settings.settings import Sampling


class Drawn(Enum):
    """How the children of a node were drawn."""

    SAMPLED = "sampled"  # independently, each from q
    WITHOUT_REPLACEMENT = "without-replacement"  # one after the other, q masked at those before
    POINT_MASS = "point-mass"  # fixed before any coin: argmax, top-k, lookup


class AfterRejection(Enum):
    """What is left to draw from where a candidate fell."""

    RESIDUAL = "residual"  # (p − q)₊ scaled to 1; without a q, p without the candidate
    ITSELF = "itself"  # p, as if nothing had been tried
    TOP = "top"  # for the next candidate p; for the round's last token, the likeliest alone
    BEYOND = "beyond"  # for the next candidate p; for the round's last token, (p − ρ q)₊


@dataclass(frozen=True, slots=True)
class RuleParameter:
    """A number that a rule can be set to. means: what it does, for a sentence."""

    name: str
    usual: float
    least: float
    most: float
    means: str


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """accepts: candidates with which the rule keeps its promise. reads_q: its test needs q.

    lossless: the text follows the target's law. temperature_zero: only where p is one-hot. leaves:
    what a rejection leaves. facts, dials: what the test reads beside p and q: of the laws, and what
    the rule can be set to. says: of a lossy rule, what it does and gives up, in a sentence.
    leaf_first: it judges a branch from its end, and a guess that is kept keeps all before it.
    tells_alpha: α follows from the overlap of p and q, or from the candidates' p.
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


ALL_KINDS = frozenset(Drawn)
SAMPLED, REPLACED = frozenset({Drawn.SAMPLED}), frozenset({Drawn.WITHOUT_REPLACEMENT})
WITH_Q = SAMPLED | REPLACED
LENIENCE = RuleParameter("lenience", 0.5, 0.01, 1, "q is multiplied by it in the test")
WEIGHT = RuleParameter("weight", 0.9, 0, 1, "the target's share in the mean of p and q")
EPSILON = RuleParameter("epsilon", 0.09, 0, 1, "a token of more than this chance always passes")
DELTA = RuleParameter("delta", 0.3, 0, 1, "the bar is this times e to the minus entropy where that is less")
MARGIN = RuleParameter("margin", 0.6, 0, 1, "how far below the top token's chance a token may lie")
AMONG = RuleParameter("among", 10, 1, 1000, "among how many of the likeliest tokens it must be")
SINGLE = RuleParameter("single", 0.2, 0.001, 1, "a candidate of at least this chance always passes")
TOGETHER = RuleParameter("together", 0.8, 0.001, 1, "the candidates' chances are divided by it")


def _lossless() -> tuple[RuleSpec, ...]:
    """Rules whose text follows the target's law."""
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
    """Rules that trade the target's law for speed; each says how in a sentence."""
    return (
        RuleSpec(
            "lenience", WITH_Q, False, False, True, parameters=(LENIENCE,),
            tradeoff="It keeps a guess with chance min(1, p/(l q)) for a lenience l below 1, so the "
            "draft's favourites come more often than the target would say them.",
        ),
        RuleSpec(
            "ensemble", WITH_Q, False, False, True, parameters=(WEIGHT,),
            tradeoff="It puts w p + (1 − w) q in the place of p, so a guess and what replaces it "
            "follow a mean of both models' laws, not the target's.",
        ),
        RuleSpec(
            "typical", ALL_KINDS, False, False, False, AfterRejection.TOP, frozenset({"entropy"}),
            parameters=(EPSILON, DELTA),
            tradeoff="It keeps every guess that the target finds likely enough for how unsure it is, "
            "and says the target's top token elsewhere: no coin falls, and rare words are lost.",
        ),
        RuleSpec(
            "relaxed", ALL_KINDS, False, False, False, AfterRejection.TOP, frozenset({"top", "rank"}),
            parameters=(AMONG, MARGIN),
            tradeoff="It keeps a guess that is among the target's likeliest and not far below its top "
            "token, and says that top token elsewhere: a relaxation of greedy decoding.",
        ),
        RuleSpec(
            "thresholds", ALL_KINDS, False, False, False, extra_inputs=frozenset({"before"}),
            parameters=(SINGLE, TOGETHER),
            tradeoff="It keeps a guess whose chance reaches a bar, and divides the others' chances by "
            "a number below 1, so guessed tokens come more often than the target would say them.",
        ),
        RuleSpec(
            "unverified", ALL_KINDS, False, False, False,
            tradeoff="It keeps every guess unseen: the text is the drafter's, but for one token a "
            "round.",
        ),
    )  # fmt: skip


RULE_SPECS: Mapping[str, RuleSpec] = {promise.name: promise for promise in (*_lossless(), *_lossy())}


def parse_rule(text: str) -> tuple[str, dict[str, float]]:
    """A rule as it is chosen, its name and its dials: "typical", or "typical:0.09,0.3".

    Raises ValueError with a sentence where a number is none, out of range, or one too many.
    """
    name, _, given = text.partition(":")
    dials = RULE_SPECS[name].parameters if name in RULE_SPECS else ()
    numbers = given.split(",") if given else []
    if len(numbers) > len(dials) and name in RULE_SPECS:
        takes = ", ".join(dial.name for dial in dials) or "no number"
        raise ValueError(f"The rule {name!r} takes {takes}, not {given!r:.40}.")
    chosen = {dial.name: dial.usual for dial in dials}
    for dial, number in zip(dials, numbers, strict=False):
        chosen[dial.name] = _number(name, dial, number)
    return name, chosen


def _number(rule: str, dial: RuleParameter, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not dial.least <= value <= dial.most:
        raise ValueError(
            f"The {dial.name} of the rule {rule!r} lies between {dial.least:g} and {dial.most:g}, "
            f"not at {text!r:.40}."
        )
    return value


CANDIDATE_KINDS = {
    Drawn.SAMPLED: "candidates drawn independently from q",
    Drawn.WITHOUT_REPLACEMENT: "candidates drawn from q without replacement",
    Drawn.POINT_MASS: "candidates fixed beforehand (a point mass, which has no q)",
}


def select_rule(drawn: Drawn, sampling: Sampling) -> str:
    """The name of the rule that "auto" stands for."""
    if sampling.greedy:
        return "greedy"
    return "speculative" if drawn is Drawn.SAMPLED else drawn.value


def refuse_rule(rule: RuleSpec, drawn: Drawn, sampling: Sampling) -> str | None:
    """Why this rule would not give the target's law on such candidates; None where it does.

    A lossy rule is refused only where it cannot judge them at all.
    """
    if rule.temperature_zero and not sampling.greedy:
        return (
            f"The rule {rule.name!r} keeps nothing but the target's top token, so at temperature "
            f"{sampling.temperature:g} its text would not follow the target's law. "
            "Use temperature 0, or another rule."
        )
    if drawn not in rule.accepts and not rule.lossless:
        return (
            f"The rule {rule.name!r} divides by q; this drafter proposes {CANDIDATE_KINDS[drawn]}. "
            "Use another rule, or a drafter that samples."
        )
    if drawn not in rule.accepts:
        needed = " or ".join(sorted(CANDIDATE_KINDS[d] for d in rule.accepts))
        return (
            f"The rule {rule.name!r} needs {needed}; this drafter proposes {CANDIDATE_KINDS[drawn]}. "
            "Together they would not be lossless."
        )
    return None
