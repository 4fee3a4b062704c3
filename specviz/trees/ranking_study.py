"""The ranking study as numbers and sentences: results measured here, a published claim, and noise.

Imports no torch: the results are in a file, with the command that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final

from specviz.shipped import ASSETS, read_shipped_json
from specviz.texts import text

FILE: Final = ASSETS / "trees" / "ranking.json"
EXACT: Final = "sum float64"
Z_95: Final = 1.96  # standard errors at 95 %
Way = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reported:
    """What SGLang's pull request #12637 reports, as (products, sums of logs)."""

    url: str = "https://github.com/sgl-project/sglang/pull/12637"
    where: str = "RTX 4070 Ti SUPER, MT-Bench, 80 questions, bf16"
    accepted: tuple[float, float] = (3.14, 3.146)
    speed: tuple[float, float] = (284.7, 286.7)
    quote: str = "does not see any speed difference after some tests"

    @property
    def gain(self) -> float:
        """Tokens per pass with sums, minus those with products."""
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
    """Return the results; None if there is no file. Raises BrokenFile."""
    return read_shipped_json(file, _whole) if file.is_file() else None


def _whole(data: Any) -> dict[str, Any]:
    return {key: data[key] for key in FILE_KEYS}


def standard_deviation(way: Way) -> float:
    """Return the standard deviation of a round's accepted length."""
    return sqrt(max(0.0, way["square"] - way["length"] ** 2))


def rounds_needed(gain: float, deviation: float) -> int:
    """Return the rounds that each of two runs needs to detect such a gain at 95 %."""
    return ceil(2 * (Z_95 * deviation / gain) ** 2)


def noise_bound(deviation: float, rounds: int) -> float:
    """Return how far two runs of this many rounds differ by chance, at 95 %."""
    return Z_95 * deviation * sqrt(2 / rounds)


def verdict(ways: Mapping[str, Way], places: int, guesses: int) -> str:
    """Summarize the study for one drafter and one tree size.

    Args:
        ways: Results by way of ranking.
        places: How many positions were measured.
        guesses: The tree's budget.
    """
    same = ways["product float32"]["differ"] == ways["sum float32"]["differ"] == 0.0
    float32 = text("trees", "study_float32_differs")
    if same:
        float32 = text("trees", "study_float32_same", places=places)
    sums, products = ways["sum bfloat16"], ways["product bfloat16"]
    return text(
        "trees",
        "study_verdict",
        float32=float32,
        sums=_percent(sums["differ"]),
        sums_by=_changed(sums, guesses),
        products=_percent(products["differ"]),
        products_by=_changed(products),
        gain_sums=format_signed(sums["gain"]),
        gain_products=format_signed(products["gain"]),
        length=f"{ways[EXACT]['length']:.2f}",
    )


def noise(ways: Mapping[str, Way], reported: Reported) -> str:
    """Say how many rounds it takes to distinguish the reported difference from noise."""
    deviation = standard_deviation(ways[EXACT])
    rounds = rounds_needed(reported.gain, deviation)
    tokens = rounds * (1 + ways[EXACT]["length"])
    return text(
        "trees",
        "study_noise",
        deviation=f"{deviation:.1f}",
        noise=f"{noise_bound(deviation, 10_000):.3f}",
        gain=f"{reported.gain:.3f}",
        rounds=rounds,
        tokens=f"{tokens / 1e6:.1f}",
    )


def format_signed(value: float) -> str:
    """Format a small difference with its sign."""
    return f"{value:+.4f}".replace("-", "−")


def _changed(way: Way, guesses: int = 0) -> str:
    """Say by how many guesses a changed tree differs on average; empty if no tree differs."""
    if not way["differ"]:
        return ""
    changed = f"{way['nodes'] / way['differ']:.1f}"
    return " " + text("trees", "study_changed", changed=changed, guesses=guesses)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"  # on one line with its number
