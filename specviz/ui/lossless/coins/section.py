"""Coins that really fall for what stands in the sandbox: a button for each number of rounds."""

from __future__ import annotations

from typing import Any, Final

from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.coins.throws import THROWS

NAME: Final = "sv-coins"


def answered(text: Any) -> str:
    """See `answer.thrown`; torch is brought in by the first question, not by the page."""
    from specviz.ui.lossless.coins.answer import thrown

    return thrown(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    view = component(NAME, "lossless/coins/coins", {"throws": list(THROWS)})
    question.wire(view, "coins", f"{NAME}-ask", answered)
