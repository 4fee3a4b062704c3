"""The first visit: what this is in one line, and six stops that move the page's own controls.

Rule: a stop says what a person looks at, never a number; those stand on the page, from its run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import gradio as gr

from specviz.ui.component import component
from specviz.ui.step.recorded import names

Place = Literal["plain", "guess", "check", "rejection", "recovery", "own"]  # what `tour.js` goes to
INTRO: Final = "A small model guesses the next words; the big one checks them all in one pass."
EXACT: Final = "The text is exactly what the big one would have written, sooner."
LOSSY: Final = "Here its rule is not lossless: the text is not the big one’s own."


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of the way round. at: what is ringed, as a selector; place: where the run goes."""

    place: Place
    title: str
    say: str
    at: str


STOPS: Final = (
    Stop(
        "plain",
        "The big model alone.",
        "The target writes one token in each pass: every blue box in the row called plain decoding "
        "is one pass, and one token. That is slow, and it is what we want to beat.",
        ".sv-time",
    ),
    Stop(
        "guess",
        "A guess.",
        "A cheap drafter guesses the next few tokens, one after the other. They are only guesses: "
        "nothing is in the text yet.",
        ".sv-evidence > section:first-child",
    ),
    Stop(
        "check",
        "The check.",
        "One pass of the target reads all the guesses at once and says how likely each was for it: "
        "p, in blue. q, in orange, is how likely the drafter had made it.",
        ".sv-evidence > section:first-child",
    ),
    Stop(
        "rejection",
        "A rejection.",
        "Where the target likes a guess less than the drafter did, a coin decides: it is kept with "
        "chance p ÷ q. This one fell, and the guesses behind it were made for nothing.",
        ".sv-panel",
    ),
    Stop(
        "recovery",
        "What takes its place.",
        "A word drawn from what the target has and the draft had not: the hatched part. So each "
        "word comes out as often as if the target had written alone: the text is its own.",
        ".sv-panel",
    ),
    Stop(
        "own",
        "Your turn.",
        "Choose an example or write a prompt, and press Run live: a real run, on the machine that "
        "serves this page. The help, at ? above, has this way round again, and every word.",
        "#sv-run",
    ),
)


def intro() -> gr.HTML:
    """The line above the run, and the way round."""
    words = {"intro": INTRO, "exact": EXACT, "lossy": LOSSY}
    return component("sv-intro", "step/intro", config(), words=words)


def config() -> dict[str, Any]:
    """What the way round knows: its stops, and the recorded run that it is about."""
    return {"stops": [asdict(stop) for stop in STOPS], "run": next(iter(names()), None)}
