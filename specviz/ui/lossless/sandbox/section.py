"""The sandbox: p and q over a few words, a rule to check guesses, and the exact output.

The browser sends one question at a time as JSON, and `answer.answer` answers it. Bars move in the
browser; everything that depends on a rule is computed in Python.
"""

from __future__ import annotations

from typing import Final

from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox.choices import DRAWN, rules
from specviz.ui.lossless.sandbox.presets import PRESETS
from specviz.ui.lossless.sandbox.question import MOST_CANDIDATES

NAME: Final = "sv-sand"


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    known = {
        "presets": [preset.to_json() for preset in PRESETS],
        "rules": rules(),
        "drawn": [{"value": value, "title": title} for value, title in DRAWN],
        "most": MOST_CANDIDATES,
    }
    component(NAME, "lossless/sandbox/sandbox", known)
    place.questions.add("sandbox", "specviz.ui.lossless.sandbox.answer")
