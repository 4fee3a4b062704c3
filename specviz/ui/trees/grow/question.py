"""A question about a growing tree: the page's JSON, validated, with readable errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.trees import shapes
from specviz.trees.shapes import Parameters, check_range
from specviz.ui.questions import BadRequest

KINDS: Final[Mapping[str, str]] = {
    "dynamic": "Dynamic, as in EAGLE-2",
    "chain": "A chain",
    "regular": "The same number of children everywhere",
    "eagle-25": "EAGLE-1’s 25 guesses",
    "medusa-63": "Medusa’s 63 guesses",
    "optimised": "Optimal for acceptance by rank (Sequoia)",
    "own": "Your own, as JSON",
}
SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True)
class GrowQuestion:
    """A position, a shape and how it is judged.

    Attributes:
        place: Name of a position.
        kind: One of KINDS.
        parameters: Size of the tree.
        own: The visitor's own shape as JSON text.
        seed: Seed of the coins.
        cold: Whether to judge at temperature 0 instead of 1.
    """

    place: str
    kind: str
    parameters: Parameters
    own: str
    seed: int
    cold: bool

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree with a sentence."""
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise BadRequest(f"The shape must be one of {', '.join(KINDS)}.")
        return cls(
            place=str(data.get("place")),
            kind=kind,
            parameters=Parameters.of(data.get("tree")),
            own=str(data.get("own", "")),
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            cold=bool(data.get("cold")),
        )

    def parents(self, chances: list[float]) -> list[int]:
        """Return the shape of a static tree.

        Args:
            chances: Acceptance by rank.

        Raises:
            BadTree: If the shape is invalid.
        """
        size = self.parameters
        if self.kind == "chain":
            return shapes.chain(size.depth)
        if self.kind == "regular":
            return shapes.regular_tree(size.width, size.depth)
        if self.kind == "optimised":
            return shapes.optimal_tree(chances, size.budget, size.depth)
        if self.kind == "own":
            return shapes.from_text(self.own)
        return shapes.published_tree(self.kind)
