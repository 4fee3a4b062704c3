"""Compare two rules, from the root down and from the leaves up, on one tree with the same u."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.trees.recorded_position import recipes
from specviz.ui.component import TabContext, component

NAME: Final = "sv-judge"


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        places: Name and title of each position.
        drawn: Name and title of each way of sampling.
    """

    places: list[tuple[str, str]]
    shapes: list[str]
    drawn: list[tuple[str, str]]


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    shapes = ["2 × 2", "3 × 2", "2 × 2 × 1", "3 × 1 × 1", "2 × 1", "a chain of 3"]
    known: Config = {
        "places": [(one.name, one.title) for one in recipes() if one.drafter not in FIXED],
        "shapes": shapes,
        "drawn": [
            ("without-replacement", "without replacement"),
            ("sampled", "with replacement (independent)"),
        ],
    }
    component(NAME, "trees/judging/judging", known)
    place.questions.add("judging", "specviz.ui.trees.judging.answer")


FIXED: Final = ("medusa",)  # its guesses do not depend on earlier ones, so no tree is sampled
