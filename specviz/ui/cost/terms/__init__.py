"""The top of the Cost tab: its contents, and α and γ, which all its sections use.

The section sends no questions to the server. α is chosen by the visitor, measured in a run, or
taken from a source; the page always shows which.
"""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.cost.sources import EVIDENCE, Acceptance, acceptances
from specviz.texts import text
from specviz.ui.component import TabContext, component

NAME: Final = "sv-terms"


class Pair(TypedDict):
    """α and γ of the tab; None if a box is empty."""

    alpha: float | None
    gamma: float | None


class Preset(TypedDict):
    """A published α."""

    name: str
    alpha: float
    gamma: int | None
    guesses: int | None
    drafter: str
    on: str
    title: str
    said: str
    how: str
    source: tuple[str, str]


class Config(TypedDict):
    """Initial values of the sliders, and published α by drafter."""

    terms: Pair
    presets: list[Preset]


START: Final[Pair] = {"alpha": 0.7, "gamma": 4}


def build(place: TabContext) -> None:
    """Build the section."""
    component(NAME, "cost/terms/terms", config())


def config() -> Config:
    """Return the page's data."""
    return {"terms": START, "presets": [preset(each) for each in acceptances()]}


def preset(each: Acceptance) -> Preset:
    """Return a published α for the page, with its source and how it was computed."""
    alpha = round(each.effective_alpha, 3)
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
        "source": (each.source.title, each.source.url),
    }


def gamma_of(each: Acceptance) -> str:
    """Format the draft length for the list; empty if the source does not state it."""
    return f", γ {each.gamma}" if each.gamma else ""


def how(each: Acceptance) -> str:
    """Return how α is known: computed from tokens per pass, or as published."""
    if each.derived:
        start = text(
            "cost",
            "alpha_derived",
            conditions=each.conditions,
            tokens=f"{each.tokens:g}",
            gamma=f"{each.gamma}",
            alpha=f"{each.effective_alpha:.3f}",
        )
    else:
        evidence = EVIDENCE[each.source.evidence]
        start = text("cost", "alpha_published", conditions=each.conditions, evidence=evidence)
    note = each.source.note
    return f"{start} {note[:1].upper()}{note[1:]}." if note else start
