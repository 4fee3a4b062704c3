"""What a visitor asks of the sandbox, as data: checked, with a sentence for whatever is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, Final, Self

from specviz.trace.promises import Drawn
from specviz.ui.question import Unasked, read

FEWEST_WORDS: Final = 2
MOST_WORDS: Final = 6
MOST_CANDIDATES: Final = 3
LONGEST_RULE: Final = 80  # characters
NEAR_ONE: Final = 1e-6  # what a law may miss of 1 before it is no law
DRAWN: Final[Mapping[str, Drawn]] = {
    "sampled": Drawn.SAMPLED,
    "without-replacement": Drawn.WITHOUT_REPLACEMENT,
    "top": Drawn.POINT_MASS,
}


@dataclass(frozen=True, slots=True)
class SandboxQuestion:
    """p, q: laws (V,) over a few words. rule: by name, "auto" for the one that fits."""

    number: int
    p: tuple[float, ...]
    q: tuple[float, ...]
    drawn: Drawn
    candidates: int
    rule: str

    @classmethod
    def from_text(cls, text: Any) -> Self:
        """What JSON text asks. Raises Unasked with a sentence."""
        data = read(text)
        p, q = law(data.get("p"), "p"), law(data.get("q"), "q")
        if len(p) != len(q):
            raise Unasked("p and q are laws over the same words, so they are equally long.")
        drawn = str(data.get("drawn"))
        if drawn not in DRAWN:
            raise Unasked(f"Candidates are drawn in one of these ways: {', '.join(DRAWN)}.")
        rule = data.get("rule")
        if not isinstance(rule, str) or len(rule) > LONGEST_RULE:
            raise Unasked(f"A rule is named in {LONGEST_RULE} characters at most.")
        return cls(
            number=whole(data.get("id"), "The number of a question", -(2**53), 2**53),
            p=p,
            q=q,
            drawn=DRAWN[drawn],
            candidates=min(
                whole(data.get("candidates"), "The number of candidates", 1, MOST_CANDIDATES),
                len(p),
            ),
            rule=rule,
        )


def whole(value: Any, called: str, least: int, most: int) -> int:
    """A whole number within bounds. Raises Unasked with a sentence."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Unasked(f"{called} is a whole number from {least} to {most}.")
    return value


def law(values: Any, called: str) -> tuple[float, ...]:
    """Chances (V,) that sum to 1, scaled to do so. Raises Unasked with a sentence."""
    if not isinstance(values, list) or not FEWEST_WORDS <= len(values) <= MOST_WORDS:
        raise Unasked(f"{called} has {FEWEST_WORDS} to {MOST_WORDS} chances.")
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or not all(isfinite(v) and 0.0 <= v <= 1.0 for v in numbers):
        raise Unasked(f"Every chance of {called} is a number from 0 to 1.")
    total = fsum(numbers)
    if abs(total - 1.0) > NEAR_ONE:
        raise Unasked(f"The chances of {called} sum to {total:.6g}, not to 1, so it is no law.")
    return tuple(value / total for value in numbers)
