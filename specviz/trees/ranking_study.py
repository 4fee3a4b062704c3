"""The ranking question in numbers: what was measured here, what a pull request reports, and noise.

Standard library only: what was measured stands in a file, with the command that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final

from specviz.shipped import ASSETS, of_shipped

FILE: Final = ASSETS / "trees" / "ranking.json"
EXACT: Final = "sum float64"
Z_95: Final = 1.96  # standard errors at 95 %
Way = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reported:
    """What SGLang's pull request #12637 reports. before: products; after: sums of logs."""

    url: str = "https://github.com/sgl-project/sglang/pull/12637"
    where: str = "RTX 4070 Ti SUPER, MT-Bench, 80 questions, bf16"
    accepted: tuple[float, float] = (3.14, 3.146)
    speed: tuple[float, float] = (284.7, 286.7)
    quote: str = "does not see any speed difference after some tests"

    @property
    def gain(self) -> float:
        """Tokens a pass, after less before."""
        return self.accepted[1] - self.accepted[0]


FILE_KEYS: Final = (
    "made_by",
    "prompts",
    "places",
    "processor",
    "versions",
    "arithmetic",
    "drafters",
)


@cache
def load_study(file: Path = FILE) -> dict[str, Any] | None:
    """The file's content; None where there is none. Raises BrokenFile."""
    return of_shipped(file, _whole) if file.is_file() else None


def _whole(data: Any) -> dict[str, Any]:
    return {key: data[key] for key in FILE_KEYS}


def standard_deviation(way: Way) -> float:
    """The standard deviation of a round's accepted length."""
    return sqrt(max(0.0, way["square"] - way["length"] ** 2))


def rounds_needed(gain: float, deviation: float) -> int:
    """Rounds that each of two runs needs until luck alone would rarely part them by so much."""
    return ceil(2 * (Z_95 * deviation / gain) ** 2)


def noise_bound(deviation: float, rounds: int) -> float:
    """How far two runs of so many rounds lie apart by luck alone, at 95 %."""
    return Z_95 * deviation * sqrt(2 / rounds)


def verdict(ways: Mapping[str, Way], places: int, guesses: int) -> str:
    """What the sweep says of one drafter and one size, in sentences."""
    same = ways["product float32"]["differ"] == ways["sum float32"]["differ"] == 0.0
    sums, products = ways["sum bfloat16"], ways["product bfloat16"]
    first = (
        f"In float32, products and sums of logs make the very tree of exact arithmetic at all "
        f"{places} places."
        if same
        else "Even in float32 some trees differ."
    )
    return (
        f"{first} In bfloat16, sums change {_percent(sums['differ'])} of the trees"
        f"{_each(sums, guesses)} and products {_percent(products['differ'])}{_each(products)}. "
        f"The accepted length moves by {format_signed(sums['gain'])} with sums and "
        f"{format_signed(products['gain'])} with products, of {ways[EXACT]['length']:.2f}."
    )


def noise(ways: Mapping[str, Way], reported: Reported) -> str:
    """Whether the difference that was reported can be told from luck."""
    deviation = standard_deviation(ways[EXACT])
    needed = rounds_needed(reported.gain, deviation)
    tokens = needed * (1 + ways[EXACT]["length"])
    return (
        f"A round’s accepted length scatters by {deviation:.1f} here. Two runs whose trees are the "
        f"same differ by {noise_bound(deviation, 10_000):.3f} after 10,000 rounds by luck alone, so to "
        f"tell {reported.gain:.3f} from it takes {needed:,} rounds each, about "
        f"{tokens / 1e6:.1f} million tokens; 80 answers have far fewer."
    )


def format_signed(value: float) -> str:
    """A small difference with its sign."""
    return f"{value:+.4f}".replace("-", "−")


def _each(way: Way, guesses: int = 0) -> str:
    """By how many guesses a changed tree differs, on average."""
    if not way["differ"]:
        return ""
    of = f" of {guesses} guesses" if guesses else ""
    return f" (by {way['nodes'] / way['differ']:.1f}{of} where they do)"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"  # on one line with its number
