"""The rules of verification, by name, and the one that fits a kind of candidates."""

from __future__ import annotations

from collections.abc import Mapping

from specviz.settings.settings import Sampling
from specviz.trace.promises import Drawn, fitting, refusal
from specviz.verification.base import (
    Coins,
    Decision,
    Final,
    Law,
    MismatchedRule,
    Rule,
    Verdict,
)
from specviz.verification.rules import Greedy, PointMass, RecursiveRejection

RULES: Mapping[str, Rule] = {
    "speculative": RecursiveRejection("speculative"),
    "without-replacement": RecursiveRejection("without-replacement"),
    "point-mass": PointMass(),
    "greedy": Greedy(),
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
        return RULES[fitting(drawn, sampling)]
    if name not in RULES:
        raise MismatchedRule(f"No rule is called {name!r}; there are {', '.join(RULES)}.")
    problem = refusal(RULES[name].promise, drawn, sampling)
    if problem:
        raise MismatchedRule(problem)
    return RULES[name]
