"""What each rule promises, of which candidates: the one table that the rules and a re-check read.

The one idea of the subject: the rule must match the way the candidates were drawn. Standard library
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from specviz.settings.settings import Sampling


class Drawn(Enum):
    """How the children of a node were drawn."""

    SAMPLED = "sampled"  # independently, each from q
    WITHOUT_REPLACEMENT = "without-replacement"  # one after the other, q masked at those before
    POINT_MASS = "point-mass"  # fixed before any coin: argmax, top-k, lookup


@dataclass(frozen=True, slots=True)
class Promise:
    """accepts: candidates with which the rule keeps its promise. reads_q: its test needs q.

    lossless: the text follows the target's law. temperature_zero: only where p is one-hot.
    """

    name: str
    accepts: frozenset[Drawn]
    lossless: bool
    temperature_zero: bool
    reads_q: bool


EVERY = frozenset(Drawn)
SAMPLED, REPLACED = frozenset({Drawn.SAMPLED}), frozenset({Drawn.WITHOUT_REPLACEMENT})
PROMISES: Mapping[str, Promise] = {
    promise.name: promise
    for promise in (
        Promise("speculative", SAMPLED, True, False, True),
        Promise("without-replacement", REPLACED, True, False, True),
        Promise("point-mass", EVERY, True, False, False),
        Promise("greedy", EVERY, True, True, False),
    )
}


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
    """Why this rule would not give the target's law on such candidates; None where it does."""
    if rule.temperature_zero and not sampling.greedy:
        return (
            f"The rule {rule.name!r} keeps nothing but the target's top token, so at temperature "
            f"{sampling.temperature:g} its text would not follow the target's law. "
            "Use temperature 0, or another rule."
        )
    if drawn not in rule.accepts:
        needed = " or ".join(sorted(WHY[d] for d in rule.accepts))
        return (
            f"The rule {rule.name!r} needs {needed}; this drafter proposes {WHY[drawn]}. "
            "Together they would not be lossless."
        )
    return None
