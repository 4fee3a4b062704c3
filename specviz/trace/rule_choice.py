"""Which rule fits the candidates: the rule selected by "auto", and the pairs that are refused.

Candidates sampled from q need a rule that tests with that q. A draft may end because of anything
known before a candidate was sampled; the candidate remains a sample of q. But if a candidate is
dropped because of its own token or probability, the candidates that remain are more probable than q
says. Only rules that do not read q are exact for them. Standard library only.
"""

from __future__ import annotations

from typing import Final

from specviz.settings.settings import Sampling
from specviz.trace.rule_specs import Cut, Drawn, RuleSpec

CANDIDATE_KINDS: Final = {
    Drawn.SAMPLED: "candidates sampled independently from q",
    Drawn.WITHOUT_REPLACEMENT: "candidates sampled from q without replacement",
    Drawn.POINT_MASS: "candidates chosen without randomness (a point mass, which has no q)",
}


def select_rule(drawn: Drawn, sampling: Sampling, cut: Cut = Cut.BEFORE_SAMPLING) -> str:
    """Return the name of the rule that "auto" selects."""
    if sampling.greedy:
        return "greedy"
    if cut is Cut.AFTER_SAMPLING:
        return "point-mass"
    return "speculative" if drawn is Drawn.SAMPLED else drawn.value


def refuse_rule(
    rule: RuleSpec, drawn: Drawn, sampling: Sampling, cut: Cut = Cut.BEFORE_SAMPLING
) -> str | None:
    """Return why a rule is not lossless with these candidates, or None if it is.

    A lossy rule is refused only if it cannot judge these candidates at all.
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
    sampled_then_cut = cut is Cut.AFTER_SAMPLING and drawn is not Drawn.POINT_MASS
    if rule.lossless and rule.reads_q and sampled_then_cut:
        return (
            f"The rule {rule.name!r} tests candidates as samples of q; this drafter samples them, "
            "looks at them, and leaves some out, so the others are not samples of q. Together "
            "they would not be lossless. Use the rule 'point-mass', which does not need q."
        )
    return None
