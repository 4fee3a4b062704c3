"""A question to the sandbox as validated data; every error is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, Final, Self

from specviz.trace.rule_specs import Drawn
from specviz.ui.questions import BadRequest

FEWEST_WORDS: Final = 2
MOST_WORDS: Final = 6
MOST_CANDIDATES: Final = 3
LONGEST_RULE: Final = 80  # characters
NEAR_ONE: Final = 1e-6  # how far from 1 the probabilities may sum
DRAWN: Final[Mapping[str, Drawn]] = {
    "sampled": Drawn.SAMPLED,
    "without-replacement": Drawn.WITHOUT_REPLACEMENT,
    "top": Drawn.POINT_MASS,
}


@dataclass(frozen=True, slots=True)
class SandboxQuestion:
    """p, q: probabilities (V,) of a few words. rule: its name, or "auto" for the one that fits."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    drawn: Drawn
    candidates: int
    rule: str

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest with a sentence."""
        p, q = law(data.get("p"), "p"), law(data.get("q"), "q")
        if len(p) != len(q):
            raise BadRequest("p and q must have a probability for the same words.")
        drawn = str(data.get("drawn"))
        if drawn not in DRAWN:
            raise BadRequest(f"Guesses are chosen in one of these ways: {', '.join(DRAWN)}.")
        rule = data.get("rule")
        if not isinstance(rule, str) or len(rule) > LONGEST_RULE:
            raise BadRequest(f"A rule's name has at most {LONGEST_RULE} characters.")
        return cls(
            p=p,
            q=q,
            drawn=DRAWN[drawn],
            candidates=min(
                whole(data.get("candidates"), "The number of guesses", 1, MOST_CANDIDATES),
                len(p),
            ),
            rule=rule,
        )


def whole(value: Any, called: str, least: int, most: int) -> int:
    """Validate a whole number within bounds. Raises BadRequest with a sentence."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequest(f"{called} must be a whole number from {least} to {most}.")
    return value


def law(values: Any, called: str) -> tuple[float, ...]:
    """Validate probabilities (V,) and scale them to sum to 1. Raises BadRequest with a sentence."""
    if not isinstance(values, list) or not FEWEST_WORDS <= len(values) <= MOST_WORDS:
        raise BadRequest(f"{called} must have {FEWEST_WORDS} to {MOST_WORDS} probabilities.")
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or not all(isfinite(v) and 0.0 <= v <= 1.0 for v in numbers):
        raise BadRequest(f"Every probability in {called} must be a number from 0 to 1.")
    total = fsum(numbers)
    if abs(total - 1.0) > NEAR_ONE:
        raise BadRequest(f"The probabilities in {called} sum to {total:.6g}; they must sum to 1.")
    return tuple(value / total for value in numbers)
