"""What was decided before the first round: settings, rule, and how guesses may be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.settings.settings import BadSettings, Settings
from specviz.trace.check.chat import check_chat
from specviz.trace.check.demands import CheckFailed, demand
from specviz.trace.events import Header, Proposed
from specviz.trace.promises import PROMISES, Drawn, Promise, asked, fitting, refusal


@dataclass(frozen=True, slots=True)
class Plan:
    """What the rounds are held to. dials: what the rule is set to, by name."""

    settings: Settings
    promise: Promise
    eos: frozenset[int]
    dials: Mapping[str, float]


def plan(header: Header) -> Plan:
    """The header as a plan. Raises CheckFailed where it promises what its rule does not."""
    try:
        settings = Settings.from_json(header.settings)
    except BadSettings as error:
        raise CheckFailed(f"Header: {error}") from error
    demand(header.rule in PROMISES, "Header", f"the rule {header.rule!r} is not known here")
    promise = PROMISES[header.rule]
    says = f"the rule {header.rule!r} is {'' if promise.lossless else 'not '}lossless"
    demand(header.lossless == promise.lossless, "Header", f"{says}, the header says otherwise")
    name, dials = _asked(settings.rule)
    chosen = name in ("auto", header.rule)
    demand(chosen, "Header", f"the rule {settings.rule!r} was chosen, not {header.rule!r}")
    ids = [*header.prompt_ids, *header.eos]
    known = all(0 <= token < header.vocab_size for token in ids)
    demand(known, "Header", "a token id lies outside the vocabulary")
    check_chat(header, settings)
    return Plan(settings, promise, frozenset(header.eos), dials)


def _asked(rule: str) -> tuple[str, dict[str, float]]:
    try:
        return asked(rule)
    except ValueError as error:
        raise CheckFailed(f"Header: {error}") from error


def check_drawn(proposed: Proposed, plan: Plan, where: str) -> None:
    """The rule takes candidates that were drawn so; "auto" takes no other rule for them."""
    drawn, sampling = Drawn(proposed.drawn), plan.settings.sampling
    problem = refusal(plan.promise, drawn, sampling)
    demand(problem is None, where, (problem or "").rstrip("."))
    name = plan.promise.name
    follows = fitting(drawn, sampling) if plan.settings.rule == "auto" else name
    demand(name == follows, where, f"the rule is {name!r}, but {follows!r} fits its candidates")
