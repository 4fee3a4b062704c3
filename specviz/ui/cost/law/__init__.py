"""The speed-up formula, compared with the last run.

The browser sends one question at a time, which the module `answer` answers.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from specviz.ui.component import TabContext, component
from specviz.ui.cost.law.answer import LIMITS, LawQuestion, answer, trees_compared
from specviz.ui.cost.terms import START as TERMS
from specviz.ui.cost.terms import Pair

NAME: Final = "sv-law"


class State(TypedDict):
    """The values of the sliders and boxes; None where a box is empty."""

    alpha: float | None
    gamma: float | None
    c: float | None
    verify: float | None
    c_hat: float | None
    map: Literal["gamma", "c"]
    widths: str
    places: str


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        trees: The sentence about trees for the initial values.
    """

    start: State
    terms: Pair
    trees: str
    limits: dict[str, tuple[float, float]]


START: Final[State] = {
    **TERMS, "c": 0.1, "verify": 1, "c_hat": 0.1,
    "map": "gamma", "widths": "3, 2, 1, 1", "places": "0.65, 0.11, 0.05",
}  # fmt: skip


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    limits = {name: (least, most) for name, (_, least, most) in LIMITS.items()}
    trees = trees_compared(LawQuestion.from_data(START))["said"]
    config: Config = {"start": START, "terms": TERMS, "limits": limits, "trees": trees}
    component(NAME, "cost/law/law", config)
    place.questions.add("law", answer)
