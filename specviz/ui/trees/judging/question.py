"""A question about the two rules: the page's JSON, validated, with readable errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from specviz.trees.judging import SAMPLING_MODES, SHAPES
from specviz.trees.shapes import check_range
from specviz.ui.questions import BadRequest

SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class JudgingQuestion:
    """A sampled tree to judge.

    Attributes:
        place: Name of a position.
        shape: Index in SHAPES.
        drawn: Key of SAMPLING_MODES.
        seed: Seed of the tree and its coins.
        average: Whether to average over many trees, too.
    """

    place: str
    shape: int
    drawn: str
    seed: int
    average: bool

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree with a sentence."""
        drawn = data.get("drawn")
        if not isinstance(drawn, str) or drawn not in SAMPLING_MODES:
            raise BadRequest(f"The sampling must be one of {', '.join(SAMPLING_MODES)}.")
        return cls(
            place=str(data.get("place")),
            shape=check_range("The shape", data.get("shape"), 0, len(SHAPES) - 1),
            drawn=drawn,
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            average=bool(data.get("average")),
        )
