"""What was decided before the first round: settings, rule, and how guesses may be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.settings.settings import BadSettings, Settings
from specviz.trace.check.chat import check_chat
from specviz.trace.check.expectations import CheckFailed, expect
from specviz.trace.events import Header, Proposed
from specviz.trace.rule_specs import (
    RULE_SPECS,
    Drawn,
    RuleSpec,
    parse_rule,
    refuse_rule,
    select_rule,
)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What the rounds are held to. dials: what the rule is set to, by name."""

    settings: Settings
    spec: RuleSpec
    eos: frozenset[int]
    parameters: Mapping[str, float]


def read_run_spec(header: Header) -> RunSpec:
    """The header as a plan. Raises CheckFailed where it promises what its rule does not."""
    try:
        settings = Settings.from_json(header.settings)
    except BadSettings as error:
        raise CheckFailed(f"Header: {error}") from error
    expect(header.rule in RULE_SPECS, "Header", f"the rule {header.rule!r} is not known here")
    promise = RULE_SPECS[header.rule]
    says = f"the rule {header.rule!r} is {'' if promise.lossless else 'not '}lossless"
    expect(header.lossless == promise.lossless, "Header", f"{says}, the header says otherwise")
    name, dials = _asked(settings.rule)
    chosen = name in ("auto", header.rule)
    expect(chosen, "Header", f"the rule {settings.rule!r} was chosen, not {header.rule!r}")
    ids = [*header.prompt_ids, *header.eos]
    known = all(0 <= token < header.vocab_size for token in ids)
    expect(known, "Header", "a token id lies outside the vocabulary")
    check_chat(header, settings)
    return RunSpec(settings, promise, frozenset(header.eos), dials)


def _asked(rule: str) -> tuple[str, dict[str, float]]:
    try:
        return parse_rule(rule)
    except ValueError as error:
        raise CheckFailed(f"Header: {error}") from error


def check_drawn(proposed: Proposed, plan: RunSpec, where: str) -> None:
    """The rule takes candidates that were drawn so; "auto" takes no other rule for them."""
    drawn, sampling = Drawn(proposed.drawn), plan.settings.sampling
    problem = refuse_rule(plan.spec, drawn, sampling)
    expect(problem is None, where, (problem or "").rstrip("."))
    name = plan.spec.name
    follows = select_rule(drawn, sampling) if plan.settings.rule == "auto" else name
    expect(name == follows, where, f"the rule is {name!r}, but {follows!r} fits its candidates")
