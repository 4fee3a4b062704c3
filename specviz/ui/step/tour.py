"""The first visit: a line that says what the page is, and a tour of its real controls.

The texts contain no numbers of the run; these are on the page itself.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

import gradio as gr

from specviz.ui.component import component
from specviz.ui.step.recorded import names

Place = Literal[
    "plain", "guess", "check", "rejection", "recovery", "commit", "end", "own"
]  # positions in the run that `tour.js` searches for
INTRO: Final = "A small model guesses words. A big one checks them all in one pass, to save time."
EXACT: Final = (
    "The text is the big one’s own: the same words at temperature 0, else exactly as likely."
)
LOSSY: Final = (
    "The rule used here is not lossless: the text does not follow the big model’s distribution."
)


class Stop(TypedDict):
    """One stop of the tour.

    Attributes:
        place: The step of the run that is shown.
        title: The heading.
        say: The text.
        at: CSS selector of the element to highlight.
    """

    place: Place
    title: str
    say: str
    at: str


class TourConfig(TypedDict):
    """The stops, and the recorded run that they are about, if it exists."""

    stops: list[Stop]
    run: str | None


STOPS: Final = [
    Stop(
        place="plain",
        title="The big model alone.",
        say="The big model is called the target. It writes one token per pass: every blue box in "
        "the row “Plain decoding” is one pass and one token. That is slow; we want to beat it.",
        at=".sv-time",
    ),
    Stop(
        place="guess",
        title="A draft.",
        say="A cheap drafter guesses the next few tokens, one after the other. They are only "
        "guesses: nothing is in the text yet.",
        at=".sv-tree-part",
    ),
    Stop(
        place="check",
        title="The check.",
        say="One pass of the target reads all guesses at once and gives each a probability: p, in "
        "blue. The probability that the drafter gave it is q, in orange.",
        at=".sv-tree-part",
    ),
    Stop(
        place="rejection",
        title="A rejection.",
        say="If the target gives a guess less probability than the drafter did, a random number, "
        "the coin, decides: accept with probability p ÷ q. This guess is rejected, and those after "
        "it are discarded.",
        at=".sv-panel",
    ),
    Stop(
        place="recovery",
        title="The replacement.",
        say="It is sampled from the residual: the part of the target’s probability above the "
        "drafter’s, hatched here. This makes every word as likely as if the target had written "
        "alone: the text follows the target’s distribution.",
        at=".sv-panel",
    ),
    Stop(
        place="commit",
        title="The commit.",
        say="The accepted guesses and the replacement join the text, all for one pass. When every "
        "guess is accepted, that pass gives one more token: the bonus, marked with a star.",
        at=".sv-strip",
    ),
    Stop(
        place="end",
        title="The speed-up.",
        say="Both rows were measured on the same machine. The speed-up, at the end of the first "
        "row, says how many times as fast as plain decoding this run was.",
        at=".sv-time",
    ),
    Stop(
        place="own",
        title="Your turn.",
        say="Choose an example or write a prompt, and press Run live: a real run, on the machine "
        "that serves this page. Help, at the top, has this tour again and explains every term.",
        at="#sv-run",
    ),
]


def intro() -> gr.HTML:
    """Build the line above the run, and the tour."""
    words = {"intro": INTRO, "exact": EXACT, "lossy": LOSSY}
    return component("sv-intro", "step/intro", config(), words=words)


def config() -> TourConfig:
    """Return the config of the tour's script."""
    return {"stops": STOPS, "run": next(iter(names()), None)}
