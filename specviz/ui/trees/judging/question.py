"""A question about the two rules: the page's JSON, validated, with readable errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from specviz.trees.judging import SAMPLING_MODES, SHAPES
from specviz.trees.shapes import check_range
from specviz.ui.question import Unasked, read

SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class JudgingQuestion:
    """A sampled tree to judge.

    Attributes:
        number: The number of the question.
        place: Name of a position.
        shape: Index in SHAPES.
        drawn: Key of SAMPLING_MODES.
        seed: Seed of the tree and its coins.
        average: Whether to average over many trees, too.
    """

    number: int
    place: str
    shape: int
    drawn: str
    seed: int
    average: bool

    @classmethod
    def from_text(cls, text: Any) -> Self:
        """Parse JSON text. Raises Unasked or BadTree with a sentence."""
        data = read(text)
        drawn = data.get("drawn")
        if not isinstance(drawn, str) or drawn not in SAMPLING_MODES:
            raise Unasked(f"The sampling must be one of {', '.join(SAMPLING_MODES)}.")
        return cls(
            number=check_range("The number of a question", data.get("id"), -(2**53), 2**53),
            place=str(data.get("place")),
            shape=check_range("The shape", data.get("shape"), 0, len(SHAPES) - 1),
            drawn=drawn,
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            average=bool(data.get("average")),
        )
