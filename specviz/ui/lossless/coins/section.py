"""Run the sandbox's experiment with random numbers: one button per number of rounds."""

from __future__ import annotations

from typing import Any, Final

from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.coins.throws import THROWS

NAME: Final = "sv-coins"


def answered(text: Any) -> str:
    """Call `answer.thrown`. torch is imported for the first question, not for the page."""
    from specviz.ui.lossless.coins.answer import thrown

    return thrown(text)


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    view = component(NAME, "lossless/coins/coins", {"throws": list(THROWS)})
    question.wire(view, "coins", f"{NAME}-ask", answered)
