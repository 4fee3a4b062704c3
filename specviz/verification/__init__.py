"""The rules of verification, by name, and the one that fits a kind of candidates.

`rules`: greedy match, the point mass, speculative sampling and its siblings, lenience, ensemble.
`siblings`: accept-reject, k-SEQ. `leaf_first`: block and traversal verification. `lossy`: typical,
relaxed, thresholds, unverified. What each promises is in `trace.rule_specs`, its scalar test in
`trace.thresholds`. `exact`: what really comes out. `wild`: rules as found in public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from specviz.settings.settings import Sampling
from specviz.trace.rule_specs import Drawn, parse_rule, refuse_rule, select_rule
from specviz.verification.base import (
    Decision,
    Final,
    MismatchedRule,
    NodeDistributions,
    Rule,
    UniformSource,
    Verdict,
)
from specviz.verification.leaf_first import LeafFirst
from specviz.verification.lossy import Relaxed, Thresholds, Typical, Unverified
from specviz.verification.rules import Greedy, PointMass, RecursiveRejection
from specviz.verification.siblings import AcceptReject, KSeq

RuleParameters = Mapping[str, float]


RULE_FACTORIES: Mapping[str, Callable[[str, RuleParameters], Rule]] = {
    "speculative": RecursiveRejection,
    "without-replacement": RecursiveRejection,
    "point-mass": lambda name, dials: PointMass(),
    "greedy": lambda name, dials: Greedy(),
    "accept-reject": AcceptReject,
    "k-seq": KSeq,
    "block": lambda name, dials: LeafFirst(name),
    "traversal": lambda name, dials: LeafFirst(name),
    "lenience": RecursiveRejection,
    "ensemble": RecursiveRejection,
    "typical": Typical,
    "relaxed": Relaxed,
    "thresholds": Thresholds,
    "unverified": Unverified,
}
RULES: Mapping[str, Rule] = {name: make(name, {}) for name, make in RULE_FACTORIES.items()}


__all__ = [
    "RULES",
    "UniformSource",
    "Decision",
    "Drawn",
    "Final",
    "NodeDistributions",
    "MismatchedRule",
    "Rule",
    "Verdict",
    "choose_rule",
    "make_rule",
    "refuse_rule",
]


def make_rule(text: str) -> Rule:
    """The rule that a text asks for, with its dials: "typical", or "typical:0.09,0.3".

    Raises MismatchedRule with a sentence for an unknown name and for numbers it does not take.
    """
    try:
        name, dials = parse_rule(text)
    except ValueError as error:
        raise MismatchedRule(str(error)) from error
    if name not in RULE_FACTORIES:
        raise MismatchedRule(f"No rule is called {name!r}; there are {', '.join(RULE_FACTORIES)}.")
    return RULE_FACTORIES[name](name, dials)


def choose_rule(name: str, drawn: Drawn, sampling: Sampling) -> Rule:
    """The rule called `name`; "auto" is the one that fits the candidates and the temperature.

    Raises MismatchedRule with a sentence for an unknown name and for a pair that is not lossless
    where the rule promises to be.
    """
    if name == "auto":
        return RULES[select_rule(drawn, sampling)]
    rule = make_rule(name)
    problem = refuse_rule(rule.spec, drawn, sampling)
    if problem:
        raise MismatchedRule(problem)
    return rule
