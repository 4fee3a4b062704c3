"""An experiment of the sandbox: its limits, and the page's data of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, Final, Literal, Self

from specviz.trace.rule_specs import Drawn

FEWEST_WORDS: Final = 2
MOST_WORDS: Final = 6
MOST_CANDIDATES: Final = 3
LONGEST_RULE: Final = 80  # maximum characters
NEAR_ONE: Final = 1e-6  # how much the sum of probabilities may differ from 1
DrawnName = Literal["sampled", "without-replacement", "top"]
# Ways of choosing a guess: the name, the title, and the kind of candidates for the rule.
DRAWN: Final[tuple[tuple[DrawnName, str, Drawn], ...]] = (
    ("sampled", "sampled from q", Drawn.SAMPLED),
    ("without-replacement", "sampled, no token twice", Drawn.WITHOUT_REPLACEMENT),
    ("top", "the top tokens of q", Drawn.POINT_MASS),
)
DRAWN_BY_NAME: Final = {name: drawn for name, _, drawn in DRAWN}


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of the sandbox.

    Attributes:
        p: The target's probabilities (V,) of a few words.
        q: The drafter's probabilities (V,).
        rule: Name of the rule, or "auto" for the rule that fits.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    drawn: Drawn
    candidates: int
    rule: str

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's data. Raises ValueError if it is invalid."""
        p, q = distribution(data.get("p"), "p"), distribution(data.get("q"), "q")
        if len(p) != len(q):
            raise ValueError("p and q must have a probability for the same tokens.")
        drawn = str(data.get("drawn"))
        if drawn not in DRAWN_BY_NAME:
            ways = ", ".join(DRAWN_BY_NAME)
            raise ValueError(f"Guesses are chosen in one of these ways: {ways}.")
        rule = data.get("rule")
        if not isinstance(rule, str) or len(rule) > LONGEST_RULE:
            raise ValueError(f"A rule's name has at most {LONGEST_RULE} characters.")
        return cls(
            p=p,
            q=q,
            drawn=DRAWN_BY_NAME[drawn],
            candidates=min(
                whole(data.get("candidates"), "The number of guesses", 1, MOST_CANDIDATES),
                len(p),
            ),
            rule=rule,
        )


def whole(value: Any, called: str, least: int, most: int) -> int:
    """Return a whole number within limits. Raises ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{called} must be a whole number from {least} to {most}.")
    return value


def distribution(values: Any, called: str) -> tuple[float, ...]:
    """Scale probabilities (V,) so that they sum to 1. Raises ValueError if they are invalid."""
    if not isinstance(values, list) or not FEWEST_WORDS <= len(values) <= MOST_WORDS:
        raise ValueError(f"{called} must have {FEWEST_WORDS} to {MOST_WORDS} probabilities.")
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or not all(isfinite(v) and 0.0 <= v <= 1.0 for v in numbers):
        raise ValueError(f"Every probability in {called} must be a number from 0 to 1.")
    total = fsum(numbers)
    if abs(total - 1.0) > NEAR_ONE:
        raise ValueError(f"The probabilities in {called} sum to {total:.6g}; they must sum to 1.")
    return tuple(value / total for value in numbers)
