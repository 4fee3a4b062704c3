"""The first visit: one line that says what this is, and a tour that moves the page's own controls.

A stop says what to look at, never a number; numbers are on the page, from its run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import gradio as gr

from specviz.ui.component import component
from specviz.ui.step.recorded import names

Place = Literal[
    "plain", "guess", "check", "rejection", "recovery", "commit", "end", "own"
]  # positions that `tour.js` finds
INTRO: Final = "A small model guesses words; for speed, a big one checks them in one pass."
EXACT: Final = "The result: the big one’s words at temperature 0, else its distribution."
LOSSY: Final = (
    "The rule used here is not lossless: the text does not follow the big model’s distribution."
)


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of the tour.

    Attributes:
        place: Where the run is moved.
        title: The heading.
        say: The text.
        at: The selector of the element to highlight.
    """

    place: Place
    title: str
    say: str
    at: str


STOPS: Final = (
    Stop(
        "plain",
        "The big model alone.",
        "The big model is called the target. It writes one token per pass: every blue box in the "
        "row “Plain decoding” is one pass and one token. That is slow; we want to beat it.",
        ".sv-time",
    ),
    Stop(
        "guess",
        "A draft.",
        "A cheap drafter guesses the next few tokens, one after the other. They are only guesses: "
        "nothing is in the text yet.",
        ".sv-tree-part",
    ),
    Stop(
        "check",
        "The check.",
        "One pass of the target reads all guesses at once and gives each a probability: p, in "
        "blue. The probability that the drafter gave it is q, in orange.",
        ".sv-tree-part",
    ),
    Stop(
        "rejection",
        "A rejection.",
        "If the target gives a guess less probability than the drafter did, a random number, the "
        "coin, decides: accept with probability p ÷ q. This guess is rejected, and those after "
        "it are discarded.",
        ".sv-panel",
    ),
    Stop(
        "recovery",
        "The replacement.",
        "It is sampled from the residual: the part of the target’s probability above the "
        "drafter’s, hatched here. This makes every word as likely as if the target had written "
        "alone: the text follows the target’s distribution.",
        ".sv-panel",
    ),
    Stop(
        "commit",
        "The commit.",
        "The accepted guesses and the replacement join the text, all for one pass. When every "
        "guess is accepted, that pass gives one more token: the bonus, marked with a star.",
        ".sv-strip",
    ),
    Stop(
        "end",
        "The speed-up.",
        "Both rows were measured on the same machine. The speed-up, at the end of the first row, "
        "says how many times as fast as plain decoding this run was.",
        ".sv-time",
    ),
    Stop(
        "own",
        "Your turn.",
        "Choose an example or write a prompt, and press Run live: a real run, on the machine that "
        "serves this page. Help, at the top, has this tour again and explains every term.",
        "#sv-run",
    ),
)


def intro() -> gr.HTML:
    """Build the line above the run, and the tour."""
    words = {"intro": INTRO, "exact": EXACT, "lossy": LOSSY}
    return component("sv-intro", "step/intro", config(), words=words)


def config() -> dict[str, Any]:
    """The config of the tour's script: its stops, and the recorded run that it shows."""
    return {"stops": [asdict(stop) for stop in STOPS], "run": next(iter(names()), None)}
