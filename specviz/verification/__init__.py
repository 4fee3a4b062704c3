"""The rules of verification, by name, and the one that fits a kind of candidates."""

from __future__ import annotations

from collections.abc import Mapping

from specviz.settings.settings import Sampling
from specviz.verification.base import (
    Coins,
    Decision,
    Drawn,
    Final,
    Law,
    MismatchedRule,
    Rule,
    Verdict,
    refusal,
)
from specviz.verification.rules import Greedy, PointMass, RecursiveRejection

SPECULATIVE = RecursiveRejection("speculative", Drawn.SAMPLED)
WITHOUT_REPLACEMENT = RecursiveRejection("without-replacement", Drawn.WITHOUT_REPLACEMENT)
POINT_MASS = PointMass()
GREEDY = Greedy()
RULES: Mapping[str, Rule] = {
    rule.name: rule for rule in (SPECULATIVE, WITHOUT_REPLACEMENT, POINT_MASS, GREEDY)
}


FITTING: Mapping[Drawn, Rule] = {
    Drawn.SAMPLED: SPECULATIVE,
    Drawn.WITHOUT_REPLACEMENT: WITHOUT_REPLACEMENT,
    Drawn.POINT_MASS: POINT_MASS,
}


__all__ = [
    "RULES",
    "Coins",
    "Decision",
    "Drawn",
    "Final",
    "Law",
    "MismatchedRule",
    "Rule",
    "Verdict",
    "choose",
    "refusal",
]


def choose(name: str, drawn: Drawn, sampling: Sampling) -> Rule:
    """The rule called `name`; "auto" is the one that fits the candidates and the temperature.

    Raises MismatchedRule with a sentence for an unknown name and for a pair that is not lossless.
    """
    if name == "auto":
        return GREEDY if sampling.greedy else FITTING[drawn]
    if name not in RULES:
        raise MismatchedRule(f"No rule is called {name!r}; there are {', '.join(RULES)}.")
    problem = refusal(RULES[name], drawn, sampling)
    if problem:
        raise MismatchedRule(problem)
    return RULES[name]
