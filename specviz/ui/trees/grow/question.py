"""What a visitor asks of a growing tree, as data: checked, with a sentence for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.trees import static_shapes
from specviz.trees.parameters import Parameters, check_range
from specviz.ui.question import Unasked, read

KINDS: Final[Mapping[str, str]] = {
    "dynamic": "Dynamic, as EAGLE-2 grows it",
    "chain": "A chain",
    "regular": "Every node has as many children",
    "eagle-25": "EAGLE-1’s 25 guesses",
    "medusa-63": "Medusa’s 63 guesses",
    "optimised": "Best for acceptance by rank (Sequoia)",
    "own": "Your own, from a file",
}
SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True)
class GrowQuestion:
    """place: a position's name. kind: of KINDS. own: the text of a shape. cold: temperature 0."""

    number: int
    place: str
    kind: str
    parameters: Parameters
    own: str
    seed: int
    cold: bool

    @classmethod
    def from_text(cls, text: Any) -> Self:
        """What JSON text asks. Raises Unasked or BadTree with a sentence."""
        data = read(text)
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise Unasked(f"A tree is one of these: {', '.join(KINDS)}.")
        return cls(
            number=check_range("The number of a question", data.get("id"), -(2**53), 2**53),
            place=str(data.get("place")),
            kind=kind,
            parameters=Parameters.of(data.get("tree")),
            own=str(data.get("own", "")),
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            cold=bool(data.get("cold")),
        )

    def parents(self, chances: list[float]) -> list[int]:
        """The shape of a tree that does not grow. chances: by rank. Raises BadTree."""
        size = self.parameters
        if self.kind == "chain":
            return static_shapes.chain(size.depth)
        if self.kind == "regular":
            return static_shapes.regular(size.width, size.depth)
        if self.kind == "optimised":
            return static_shapes.optimised(chances, size.budget, size.depth)
        if self.kind == "own":
            return static_shapes.from_text(self.own)
        return static_shapes.published(self.kind)
