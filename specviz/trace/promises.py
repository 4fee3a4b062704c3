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


class Leaves(Enum):
    """What is left to draw from where a candidate fell."""

    RESIDUAL = "residual"  # (p − q)₊ scaled to 1; without a q, p without the candidate
    ITSELF = "itself"  # p, as if nothing had been tried
    TOP = "top"  # for the next candidate p; for the round's last token, the likeliest alone
    BEYOND = "beyond"  # for the next candidate p; for the round's last token, (p − ρ q)₊


@dataclass(frozen=True, slots=True)
class Dial:
    """A number that a rule can be set to. means: what it does, for a sentence."""

    name: str
    usual: float
    least: float
    most: float
    means: str


@dataclass(frozen=True, slots=True)
class Promise:
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
    leaves: Leaves = Leaves.RESIDUAL
    facts: frozenset[str] = frozenset()
    dials: tuple[Dial, ...] = ()
    says: str = ""
    leaf_first: bool = False
    tells_alpha: bool = False


EVERY = frozenset(Drawn)
SAMPLED, REPLACED = frozenset({Drawn.SAMPLED}), frozenset({Drawn.WITHOUT_REPLACEMENT})
WITH_Q = SAMPLED | REPLACED
LENIENCE = Dial("lenience", 0.5, 0.01, 1, "q is multiplied by it in the test")
WEIGHT = Dial("weight", 0.9, 0, 1, "the target's share in the mean of p and q")
EPSILON = Dial("epsilon", 0.09, 0, 1, "a token of more than this chance always passes")
DELTA = Dial("delta", 0.3, 0, 1, "the bar is this times e to the minus entropy where that is less")
MARGIN = Dial("margin", 0.6, 0, 1, "how far below the top token's chance a token may lie")
AMONG = Dial("among", 10, 1, 1000, "among how many of the likeliest tokens it must be")
SINGLE = Dial("single", 0.2, 0.001, 1, "a candidate of at least this chance always passes")
TOGETHER = Dial("together", 0.8, 0.001, 1, "the candidates' chances are divided by it")


def _lossless() -> tuple[Promise, ...]:
    """Rules whose text follows the target's law."""
    exact, itself, beyond = True, Leaves.ITSELF, Leaves.BEYOND
    return (
        Promise("speculative", SAMPLED, exact, False, True, tells_alpha=True),
        Promise("without-replacement", REPLACED, exact, False, True, tells_alpha=True),
        Promise("point-mass", EVERY, exact, False, False, tells_alpha=True),
        Promise("greedy", EVERY, exact, True, False, tells_alpha=True),
        Promise("accept-reject", SAMPLED, exact, False, True, itself, frozenset({"least"})),
        Promise("k-seq", SAMPLED, exact, False, True, beyond, frozenset({"rho"})),
        Promise("block", EVERY, exact, False, True, leaf_first=True),
        Promise("traversal", EVERY, exact, False, True, leaf_first=True),
    )


def _lossy() -> tuple[Promise, ...]:
    """Rules that trade the target's law for speed; each says how in a sentence."""
    return (
        Promise(
            "lenience", WITH_Q, False, False, True, dials=(LENIENCE,),
            says="It keeps a guess with chance min(1, p/(l q)) for a lenience l below 1, so the "
            "draft's favourites come more often than the target would say them.",
        ),
        Promise(
            "ensemble", WITH_Q, False, False, True, dials=(WEIGHT,),
            says="It puts w p + (1 − w) q in the place of p, so a guess and what replaces it "
            "follow a mean of both models' laws, not the target's.",
        ),
        Promise(
            "typical", EVERY, False, False, False, Leaves.TOP, frozenset({"entropy"}),
            dials=(EPSILON, DELTA),
            says="It keeps every guess that the target finds likely enough for how unsure it is, "
            "and says the target's top token elsewhere: no coin falls, and rare words are lost.",
        ),
        Promise(
            "relaxed", EVERY, False, False, False, Leaves.TOP, frozenset({"top", "rank"}),
            dials=(AMONG, MARGIN),
            says="It keeps a guess that is among the target's likeliest and not far below its top "
            "token, and says that top token elsewhere: a relaxation of greedy decoding.",
        ),
        Promise(
            "thresholds", EVERY, False, False, False, facts=frozenset({"before"}),
            dials=(SINGLE, TOGETHER),
            says="It keeps a guess whose chance reaches a bar, and divides the others' chances by "
            "a number below 1, so guessed tokens come more often than the target would say them.",
        ),
        Promise(
            "unverified", EVERY, False, False, False,
            says="It keeps every guess unseen: the text is the drafter's, but for one token a "
            "round.",
        ),
    )  # fmt: skip


PROMISES: Mapping[str, Promise] = {promise.name: promise for promise in (*_lossless(), *_lossy())}


def asked(text: str) -> tuple[str, dict[str, float]]:
    """A rule as it is chosen, its name and its dials: "typical", or "typical:0.09,0.3".

    Raises ValueError with a sentence where a number is none, out of range, or one too many.
    """
    name, _, given = text.partition(":")
    dials = PROMISES[name].dials if name in PROMISES else ()
    numbers = given.split(",") if given else []
    if len(numbers) > len(dials) and name in PROMISES:
        takes = ", ".join(dial.name for dial in dials) or "no number"
        raise ValueError(f"The rule {name!r} takes {takes}, not {given!r:.40}.")
    chosen = {dial.name: dial.usual for dial in dials}
    for dial, number in zip(dials, numbers, strict=False):
        chosen[dial.name] = _number(name, dial, number)
    return name, chosen


def _number(rule: str, dial: Dial, text: str) -> float:
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


WHY = {
    Drawn.SAMPLED: "candidates drawn independently from q",
    Drawn.WITHOUT_REPLACEMENT: "candidates drawn from q without replacement",
    Drawn.POINT_MASS: "candidates fixed beforehand (a point mass, which has no q)",
}


def fitting(drawn: Drawn, sampling: Sampling) -> str:
    """The name of the rule that "auto" stands for."""
    if sampling.greedy:
        return "greedy"
    return "speculative" if drawn is Drawn.SAMPLED else drawn.value


def refusal(rule: Promise, drawn: Drawn, sampling: Sampling) -> str | None:
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
            f"The rule {rule.name!r} divides by q; this drafter proposes {WHY[drawn]}. "
            "Use another rule, or a drafter that samples."
        )
    if drawn not in rule.accepts:
        needed = " or ".join(sorted(WHY[d] for d in rule.accepts))
        return (
            f"The rule {rule.name!r} needs {needed}; this drafter proposes {WHY[drawn]}. "
            "Together they would not be lossless."
        )
    return None
