"""Rounding in rankings: small constructed trees, and the ranking study as numbers and sentences.

Each constructed tree shows one effect; its numbers are computed when it is shown. The study
compares rankings at real positions; its results are shown with a published claim and with the noise
of such measurements. They are stored in a file, with the command that produced them, so this module
does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt
from pathlib import Path as File
from typing import Any, Final

from specviz.shipped import ASSETS, read_shipped_json
from specviz.texts import text
from specviz.trees.recorded_position import Path, RecordedPosition, Row
from specviz.trees.shapes import Parameters

Probabilities = Mapping[str, Sequence[tuple[str, float]]]  # guesses and probabilities, by path


@dataclass(frozen=True, slots=True)
class Example:
    """A constructed tree of letters, with the guesses after each path and their probabilities."""

    name: str
    title: str
    explanation: str
    probabilities: Probabilities
    parameters: Parameters


def chains(*branches: Sequence[float]) -> Probabilities:
    """Build a tree of separate branches: the first repeats the letter a, the second b, etc."""
    found: dict[str, list[tuple[str, float]]] = {}
    for letter, branch in zip("abcd", branches, strict=False):
        for depth, chance in enumerate(branch):
            found.setdefault(letter * depth, []).append((letter, chance))
    return found


FACTORS: Final = (0.86, 0.58, 0.9, 0.57)
EXAMPLES: Final = (
    Example(
        "deep-sum",
        "A close pair of unlikely paths",
        "After a guess with probability 0.01 come guesses with 0.300 and 0.295. As sums of logs in "
        "bfloat16, both totals are −5.8125, a tie; as products they still differ.",
        {"": [("a", 0.01)], "a": [("b", 0.3), ("c", 0.295)]},
        Parameters(2, 2, 2),
    ),
    Example(
        "near-one",
        "A close pair near 1",
        "In bfloat16, 0.999 and 0.9985 both round to 1. Their logs differ: near 1, logs win.",
        {"": [("a", 0.999), ("b", 0.9985)]},
        Parameters(1, 2, 1),
    ),
    Example(
        "underflow",
        "Products that become 0",
        "Five times 0.02 and five times 0.03: in float16 both products are 0. Their logs are far "
        "apart, and float32 can represent both.",
        chains([0.03] * 5, [0.02] * 5),
        Parameters(5, 2, 9),
    ),
    Example(
        "other-tree",
        "Rounding changes the tree",
        "The path a, b has probability 0.90 × 0.0905 = 0.08145, the leaf c 0.0812. In bfloat16 "
        "they tie, summed or multiplied, and the shallower one wins: the target gets another tree.",
        {"": [("a", 0.9), ("c", 0.0812)], "a": [("b", 0.0905)]},
        Parameters(2, 2, 2),
    ),
    Example(
        "orders",
        "One product, four orders",
        "The same four probabilities in four orders. float32 rounds every step, so the totals "
        "differ in their last digit: only differences that small can flip in float32.",
        chains(
            FACTORS,
            FACTORS[::-1],
            [FACTORS[i] for i in (1, 3, 0, 2)],
            [FACTORS[i] for i in (2, 0, 3, 1)],
        ),
        Parameters(4, 4, 13),
    ),
    Example(
        "orphan",
        "A child without its parent",
        "The child has probability 0.99, so as a sum of logs in bfloat16 its total equals its "
        "parent’s. Only one of the two fits the budget. torch.topk may keep the child; here ties "
        "go to the shallower guess.",
        {
            "": [("b", 0.3), ("c", 0.25), ("d", 0.2), ("a", 0.003)],
            "b": [("f", 0.5), ("g", 0.2)],
            "a": [("e", 0.99)],
        },
        Parameters(2, 4, 6),
    ),
)


def as_position(example: Example) -> RecordedPosition:
    """Return an example as a recorded position. It has no target, so p is 0."""
    rows = {path_of(letters): row_of(guesses) for letters, guesses in example.probabilities.items()}
    letters = {token for path in rows for token in (*path, *rows[path].tokens)}
    return RecordedPosition(
        target="",
        drafter="",
        title=example.title,
        prompt="",
        context=[0],
        length=0,
        eos=[],
        vocabulary=26,
        width=example.parameters.width,
        deepest=example.parameters.depth,
        token_texts={"0": "root"} | {str(token): chr(96 + token) for token in letters},
        machine="",
        dtype="",
        versions={},
        draft_seconds=[],
        verify_seconds=0.0,
        rows=rows,
    )


def path_of(letters: str) -> Path:
    """Convert letters to tokens: a is 1, b is 2."""
    return tuple(ord(letter) - 96 for letter in letters)


def row_of(guesses: Sequence[tuple[str, float]]) -> Row:
    """Return guesses with their probabilities as a row of a position, in float32."""
    import torch  # imported late, because the page shows titles before it needs any numbers

    chances = torch.tensor([chance for _, chance in guesses], dtype=torch.float64)
    tokens = [ord(letter) - 96 for letter, _ in guesses]
    return Row(tokens, chances.log().float().tolist(), [0.0] * len(tokens), tokens[0], 0.0)


FILE: Final = ASSETS / "trees" / "ranking.json"
EXACT: Final = "sum float64"
SIZES: Final = {
    "SGLang 6, 10, 60": Parameters(6, 10, 59),
    "SGLang 5, 4, 8": Parameters(5, 4, 7),
}
Z_95: Final = 1.96  # number of standard errors for 95% confidence
Way = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reported:
    """The numbers in SGLang's pull request #12637, each as (products, sums of logs)."""

    url: str = "https://github.com/sgl-project/sglang/pull/12637"
    where: str = "RTX 4070 Ti SUPER, MT-Bench, 80 questions, bf16"
    accepted: tuple[float, float] = (3.14, 3.146)
    speed: tuple[float, float] = (284.7, 286.7)
    quote: str = "does not see any speed difference after some tests"

    @property
    def gain(self) -> float:
        """Tokens per pass with sums, minus tokens per pass with products."""
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
def load_study(file: File = FILE) -> dict[str, Any] | None:
    """Return the study's results; None if the file is missing.

    Raises BrokenFile if the file is damaged.
    """
    return read_shipped_json(file, _whole) if file.is_file() else None


def _whole(data: Any) -> dict[str, Any]:
    return {key: data[key] for key in FILE_KEYS}


def standard_deviation(way: Way) -> float:
    """Return the standard deviation of a round's accepted length."""
    return sqrt(max(0.0, way["square"] - way["length"] ** 2))


def rounds_needed(gain: float, deviation: float) -> int:
    """Return how many rounds each of two runs needs to detect this gain with 95% confidence."""
    return ceil(2 * (Z_95 * deviation / gain) ** 2)


def noise_bound(deviation: float, rounds: int) -> float:
    """Return by how much two runs of so many rounds differ by chance, with 95% confidence."""
    return Z_95 * deviation * sqrt(2 / rounds)


def verdict(ways: Mapping[str, Way], positions: int, guesses: int) -> str:
    """Summarize the study for one drafter and one tree size. guesses: the tree's budget."""
    same = ways["product float32"]["differ"] == ways["sum float32"]["differ"] == 0.0
    float32 = text("lossless", "study_float32_differs")
    if same:
        float32 = text("lossless", "study_float32_same", places=positions)
    sums, products = ways["sum bfloat16"], ways["product bfloat16"]
    return text(
        "lossless",
        "study_verdict",
        float32=float32,
        sums=_percent(sums["differ"]),
        sums_by=_changed(sums, guesses),
        products=_percent(products["differ"]),
        products_by=_changed(products),
        gain_sums=format_signed(sums["gain"]),
        gain_products=format_signed(products["gain"]),
        length=f"{ways[EXACT]['length']:.2f}",
        unseen=all(
            low <= 0 <= high for low, high in (way["gain_interval"] for way in (sums, products))
        ),
    )


def advice(study: Mapping[str, Any]) -> str:
    """Return which way of ranking to use, by all drafters and sizes of the study."""
    rows = [ways for sizes in study["drafters"].values() for ways in sizes.values()]

    def most(way: str, key: str) -> float:
        return max(abs(float(ways[way][key])) for ways in rows)

    changes = {f"{how}s": _percent(most(f"{how} bfloat16", "differ")) for how in ("product", "sum")}
    gains = [most(f"{how} bfloat16", "gain") for how in ("product", "sum")]
    return text(
        "trees",
        "ranking_advice",
        same=most("product float32", "differ") == most("sum float32", "differ") == 0.0,
        gain=f"{max(gains):.3f}",
        zeros=most("product float16", "zeros") > 0.0,
        rows=len(rows),
        **changes,
    )


def noise(ways: Mapping[str, Way], reported: Reported) -> str:
    """Return a sentence on how many rounds distinguish the reported difference from noise."""
    deviation = standard_deviation(ways[EXACT])
    rounds = rounds_needed(reported.gain, deviation)
    tokens = rounds * (1 + ways[EXACT]["length"])
    return text(
        "lossless",
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
    # Empty if no tree differs.
    if not way["differ"]:
        return ""
    changed = f"{way['nodes'] / way['differ']:.1f}"
    return " " + text("lossless", "study_changed", changed=changed, guesses=guesses)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
