"""The speed-up formula, with the last run as a point on its surface.

The browser sends one question at a time; `answer` answers it.
"""

from __future__ import annotations

from typing import Final

from specviz.ui.component import TabContext, component
from specviz.ui.cost.law.answer import answer, tree_facts
from specviz.ui.cost.law.question import LIMITS, LawQuestion
from specviz.ui.cost.terms.section import START as TERMS

NAME: Final = "sv-law"


# Values before anyone moves a slider.
START: Final = {
    **TERMS, "c": 0.1, "verify": 1, "c_hat": 0.1,
    "map": "gamma", "widths": "3, 2, 1, 1", "places": "0.65, 0.11, 0.05",
}  # fmt: skip


def build(place: TabContext) -> None:
    """Build the section and wire its events."""
    limits = {name: [least, most] for name, (_, least, most) in LIMITS.items()}
    trees = tree_facts(LawQuestion.from_data(START))["said"]
    config = {"start": START, "terms": TERMS, "limits": limits, "trees": trees}
    component(NAME, "cost/law/law", config)
    place.questions.add("law", answer)
