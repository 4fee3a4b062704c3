"""What a visitor asks of the two rules, as data: checked, with a sentence for what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from specviz.trees.parameters import check_range
from specviz.trees.rule_comparison import SAMPLING_MODES, SHAPES
from specviz.ui.question import Unasked, read

SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class JudgingQuestion:
    """place: a position's name. shape: of SHAPES, by its number. drawn: of WAYS."""

    number: int
    place: str
    shape: int
    drawn: str
    seed: int
    average: bool

    @classmethod
    def from_text(cls, text: Any) -> Self:
        """What JSON text asks. Raises Unasked or BadTree with a sentence."""
        data = read(text)
        drawn = data.get("drawn")
        if not isinstance(drawn, str) or drawn not in SAMPLING_MODES:
            raise Unasked(f"Guesses are drawn in one of these ways: {', '.join(SAMPLING_MODES)}.")
        return cls(
            number=check_range("The number of a question", data.get("id"), -(2**53), 2**53),
            place=str(data.get("place")),
            shape=check_range("The shape", data.get("shape"), 0, len(SHAPES) - 1),
            drawn=drawn,
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            average=bool(data.get("average")),
        )
