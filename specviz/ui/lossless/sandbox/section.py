"""The sandbox: a few words, p and q to drag, a rule, and exactly what comes out.

The part in the browser asks one question at a time, as JSON; `answer.answer` answers it. The rules
are in one place only: bars move in the browser, and all that follows from a rule comes from here.
"""

from __future__ import annotations

from typing import Any, Final

from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.lossless.sandbox.choices import DRAWN, rules
from specviz.ui.lossless.sandbox.presets import PRESETS
from specviz.ui.lossless.sandbox.question import MOST_CANDIDATES

NAME: Final = "sv-sand"


def answered(text: Any) -> str:
    """See `answer.answer`; torch is brought in by the first question, not by the page."""
    from specviz.ui.lossless.sandbox.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    known = {
        "presets": [preset.to_json() for preset in PRESETS],
        "rules": rules(),
        "drawn": [{"value": value, "title": title} for value, title in DRAWN],
        "most": MOST_CANDIDATES,
    }
    view = component(NAME, "lossless/sandbox/sandbox", known)
    question.wire(view, "sandbox", f"{NAME}-ask", answered)
