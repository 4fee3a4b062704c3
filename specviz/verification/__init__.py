"""The verification rules by name, and the choice of the rule that fits the candidates.

- `rules`: greedy, point mass, speculative sampling with siblings, lenience, ensemble,
  accept-reject, k-SEQ.
- `leaf_first`: block and traversal verification.
- `lossy`: typical, relaxed, thresholds, FLy, unverified.
- `exact`: the output distribution of a rule, computed exactly.
- `published_rules`: rules as published elsewhere, correct and wrong ones.

`trace.rule_specs` has what each rule guarantees, and its threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from specviz.settings.settings import Sampling
from specviz.settings.suggestion import did_you_mean
from specviz.trace.rule_choice import refuse_rule, select_rule
from specviz.trace.rule_specs import Cut, Drawn, parse_rule
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
from specviz.verification.lossy import Fly, Relaxed, Thresholds, Typical, Unverified
from specviz.verification.rules import AcceptReject, Greedy, KSeq, PointMass, RecursiveRejection

RuleParameters = Mapping[str, float]


RULE_FACTORIES: Mapping[str, Callable[[str, RuleParameters], Rule]] = {
    "speculative": RecursiveRejection,
    "without-replacement": RecursiveRejection,
    "point-mass": lambda name, parameters: PointMass(),
    "greedy": lambda name, parameters: Greedy(),
    "accept-reject": AcceptReject,
    "k-seq": KSeq,
    "block": lambda name, parameters: LeafFirst(name),
    "traversal": lambda name, parameters: LeafFirst(name),
    "lenience": RecursiveRejection,
    "ensemble": RecursiveRejection,
    "typical": Typical,
    "relaxed": Relaxed,
    "thresholds": Thresholds,
    "fly": Fly,
    "unverified": Unverified,
}
RULES: Mapping[str, Rule] = {name: make(name, {}) for name, make in RULE_FACTORIES.items()}


__all__ = [
    "RULES",
    "Cut",
    "Decision",
    "Drawn",
    "Final",
    "MismatchedRule",
    "NodeDistributions",
    "Rule",
    "UniformSource",
    "Verdict",
    "choose_rule",
    "make_rule",
    "refuse_rule",
]


def make_rule(text: str) -> Rule:
    """Create a rule from its name and parameters, such as "typical" or "typical:0.09,0.3".

    Raises:
        MismatchedRule: If the name is unknown or the parameters do not fit.
    """
    try:
        name, parameters = parse_rule(text)
    except ValueError as error:
        raise MismatchedRule(str(error)) from error
    if name not in RULE_FACTORIES:
        names = ", ".join(RULE_FACTORIES)
        hint = did_you_mean(name, ["auto", *RULE_FACTORIES])
        raise MismatchedRule(f"There is no rule {name!r:.100}. The rules are {names}.{hint}")
    return RULE_FACTORIES[name](name, parameters)


def choose_rule(
    name: str, drawn: Drawn, sampling: Sampling, cut: Cut = Cut.BEFORE_SAMPLING
) -> Rule:
    """Return the rule called `name`; "auto" selects one by candidates and temperature.

    Raises:
        MismatchedRule: If the name is unknown, or if the rule is lossless in
            general but not with these candidates.
    """
    if name == "auto":
        return RULES[select_rule(drawn, sampling, cut)]
    rule = make_rule(name)
    problem = refuse_rule(rule.spec, drawn, sampling, cut)
    if problem:
        raise MismatchedRule(problem)
    return rule
