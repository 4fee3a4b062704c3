"""How every section of the tab answers: JSON for the page, and a sentence where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from specviz.shipped import BrokenFile
from specviz.trees.parameters import BadTree
from specviz.trees.recorded_position import PositionError
from specviz.ui.question import Unasked, number_of, packed


class Asked(Protocol):
    """A question that was understood."""

    @property
    def number(self) -> int:
        """Which question of the page it is."""
        ...


Question = TypeVar("Question", bound=Asked)


def answered(
    text: Any, read: Callable[[Any], Question], whole: Callable[[Question], dict[str, Any]]
) -> str:
    """The answer to a question. read: understands it; whole: all that the section then shows."""
    try:
        asked = read(text)
        return packed({"id": asked.number, **whole(asked)})
    except (Unasked, BadTree, PositionError, BrokenFile) as problem:
        return packed({"id": number_of(text), "problem": str(problem)})
