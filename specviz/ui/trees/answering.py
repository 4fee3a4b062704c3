"""Answer a question of any section of the tab: JSON for the page, or an error sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from specviz.shipped import BrokenFile
from specviz.trees.recorded_position import PositionError
from specviz.trees.shapes import BadTree
from specviz.ui.question import Unasked, number_of, packed


class Asked(Protocol):
    """A validated question."""

    @property
    def number(self) -> int:
        """The number of the question on the page."""
        ...


Question = TypeVar("Question", bound=Asked)


def answered(
    text: Any, read: Callable[[Any], Question], whole: Callable[[Question], dict[str, Any]]
) -> str:
    """Answer a question.

    Args:
        text: The question as JSON text.
        read: Validates it.
        whole: Returns everything that the section shows.

    Returns:
        JSON text with the answer, or with the sentence of the error.
    """
    try:
        asked = read(text)
        return packed({"id": asked.number, **whole(asked)})
    except (Unasked, BadTree, PositionError, BrokenFile) as problem:
        return packed({"id": number_of(text), "problem": str(problem)})
