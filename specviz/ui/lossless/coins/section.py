"""Run the sandbox's experiment with random numbers: one button per number of rounds."""

from __future__ import annotations

from typing import Final, TypedDict

from specviz.ui.component import TabContext, component

NAME: Final = "sv-coins"
THROWS: Final = (1_000, 20_000, 100_000)  # rounds that one request may run


class Config(TypedDict):
    """What the section starts with."""

    throws: tuple[int, ...]


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {"throws": THROWS}
    component(NAME, "lossless/coins/coins", config)
    place.questions.add("coins", "specviz.ui.lossless.coins.answer")
