"""The first visit: a line that says what the page is, and a tour of its real controls.

The texts of the stops are in `specviz.texts.languages`. They contain no numbers of the run; these
are on the page itself.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

import gradio as gr

from specviz.ui.component import component
from specviz.ui.step.recorded import names

Place = Literal[
    "plain", "guess", "check", "rejection", "recovery", "commit", "end", "own"
]  # positions in the run that `tour.tsx` searches for
INTRO: Final = "A small model guesses words. A big one checks them all in one pass, to save time."
EXACT: Final = (
    "The result equals the big one’s: same words at temperature 0, else same probabilities."
)
LOSSY: Final = (
    "The rule used here is not lossless: the text does not follow the big model’s distribution."
)


class Stop(TypedDict):
    """One stop of the tour, with its texts in the catalogues; at: selectors to highlight."""

    place: Place
    at: str


class TourConfig(TypedDict):
    """The stops, and the recorded run that they are about, if it exists."""

    stops: list[Stop]
    run: str | None


STOPS: Final = [
    Stop(place="plain", at=".sv-time, .sv-lanes"),
    Stop(place="guess", at=".sv-tree-part, .sv-picture"),
    Stop(place="check", at=".sv-panel, .sv-picture"),
    Stop(place="rejection", at=".sv-panel, .sv-picture"),
    Stop(place="recovery", at=".sv-panel, .sv-picture"),
    Stop(place="commit", at=".sv-strip"),
    Stop(place="end", at=".sv-time, .sv-lanes"),
    Stop(place="own", at="#sv-run"),
]


def intro() -> gr.HTML:
    """Build the line above the run, and the tour."""
    words = {"intro": INTRO, "exact": EXACT, "lossy": LOSSY}
    return component("sv-intro", "step/intro", config(), words=words)


def config() -> TourConfig:
    """Return the config of the tour's script."""
    return {"stops": STOPS, "run": next(iter(names()), None)}
