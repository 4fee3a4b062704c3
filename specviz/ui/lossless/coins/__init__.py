"""Run the sandbox's experiment with random numbers: one button per number of rounds."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.ui.component import TabContext, component

NAME: Final = "sv-coins"
DARTS_RULE: Final = "accept-reject"
THROWS: Final = (1_000, 20_000, 100_000)  # numbers of rounds to choose from


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        darts: The rule that has a dartboard.
    """

    throws: tuple[int, ...]
    darts: str


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {"throws": THROWS, "darts": DARTS_RULE}
    component(NAME, "lossless/coins/coins", config)
    place.questions.add("coins", "specviz.ui.lossless.coins.answer")
