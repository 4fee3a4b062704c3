"""The top of the Cost tab: its contents, α and γ of all its sections, and where they come from.

It asks the server nothing. Rule: an α is a visitor's choice, a run's measurement or a source's, and
is never shown without saying which.
"""

from __future__ import annotations

from typing import Any, Final

from specviz.cost.sources import EVIDENCE, Acceptance, acceptances
from specviz.ui.component import TabContext, component

NAME: Final = "sv-terms"
START: Final = {"alpha": 0.7, "gamma": 4}  # before anybody moves a slider


def build(place: TabContext) -> None:
    """Lay the section out."""
    component(NAME, "cost/terms/terms", config())


def config() -> dict[str, Any]:
    """What the page knows: where sliders start, and published chances by drafter."""
    return {"terms": dict(START), "presets": [preset(each) for each in acceptances()]}


def preset(each: Acceptance) -> dict[str, Any]:
    """A published α for the page, with how it is known and where it was read."""
    alpha = round(each.kept, 3)
    return {
        "name": each.name,
        "alpha": alpha,
        "gamma": each.gamma,
        "guesses": each.guesses,
        "drafter": each.drafter,
        "on": each.on,
        "title": f"{each.title} on {each.on}: α {alpha:.2f}" + gamma_of(each),
        "said": f"published: {each.title} on {each.on}",
        "how": how(each),
        "source": [each.source.title, each.source.url],
    }


def gamma_of(each: Acceptance) -> str:
    """The draft length in the list's words; empty where the source does not say it."""
    return f", γ {each.gamma}" if each.gamma else ""


def how(each: Acceptance) -> str:
    """How α is known, in sentences."""
    read = EVIDENCE[each.source.evidence]
    if each.derived:
        start = (
            f"{each.conditions}: {each.tokens:g} tokens a pass. With γ {each.gamma} the speed law "
            f"makes that α {each.kept:.3f}; nobody published this α."
        )
    else:
        start = f"{each.conditions}. α as published, {read}."
    note = each.source.note
    return f"{start} {note[:1].upper()}{note[1:]}." if note else start
