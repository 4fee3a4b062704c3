"""A question to the ranking lab: the page's JSON, validated, with readable errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.rounding import EXAMPLES, Example, as_position
from specviz.trees.shapes import Parameters
from specviz.ui.questions import BadRequest
from specviz.ui.trees.places import place

MADE_UP: Final = "example:"


@dataclass(frozen=True, slots=True)
class RankingQuestion:
    """A tree to rank.

    Attributes:
        place: Name of a position, or `example:` and the name of an example.
        parameters: Size of the tree, used for positions only.
    """

    place: str
    parameters: Parameters

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree with a sentence."""
        return cls(
            place=str(data.get("place")),
            parameters=Parameters.of(data.get("tree")),
        )

    @property
    def example(self) -> Example | None:
        """The constructed example, if the question is about one. Raises BadRequest."""
        if not self.place.startswith(MADE_UP):
            return None
        name = self.place.removeprefix(MADE_UP)
        found = next((one for one in EXAMPLES if one.name == name), None)
        if found is None:
            raise BadRequest(f"There is no example called {name!r:.40}.")
        return found

    def field(self) -> tuple[RecordedPosition, Parameters]:
        """Return the position and the tree's size. Raises BadRequest."""
        example = self.example
        if example is not None:
            return as_position(example), example.parameters
        return place(self.place), self.parameters
