"""Two rules side by side: down from the root, or up from the leaves, on one tree and one chance."""

from __future__ import annotations

from typing import Any, Final

from specviz.trees.recorded_position import recipes
from specviz.ui import question
from specviz.ui.component import TabContext, component

NAME: Final = "sv-judge"


def answered(text: Any) -> str:
    """See `answer.answer`; torch is brought in by the first question, not by the page."""
    from specviz.ui.trees.judging.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    shapes = ["2 × 2", "3 × 2", "2 × 2 × 1", "3 × 1 × 1", "2 × 1", "a chain of 3"]
    known = {
        "places": [[one.name, one.title] for one in recipes() if one.drafter not in FIXED],
        "shapes": shapes,
        "drawn": [
            ["without-replacement", "by chance, no word twice"],
            ["sampled", "by chance, each anew"],
        ],
    }
    view = component(NAME, "trees/judging/judging", known)
    question.wire(view, "judging", f"{NAME}-ask", answered)


FIXED: Final = ("medusa",)  # its heads see no other guess, so nobody draws from them
