"""Small trees in which rounding matters, each built to show one effect.

The numbers are recomputed wherever they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specviz.trees.parameters import Parameters
from specviz.trees.recorded_position import Path, RecordedPosition, Row

Chances = Mapping[str, Sequence[tuple[str, float]]]  # by path, as letters: the guesses there


@dataclass(frozen=True, slots=True)
class Example:
    """A constructed tree.

    Attributes:
        name: Its key in addresses.
        title: Its name on the page.
        says: What to look for.
        chances: By path as letters, the guesses there; letters are tokens.
        parameters: Size of the tree.
    """

    name: str
    title: str
    says: str
    chances: Chances
    parameters: Parameters


def chains(*branches: Sequence[float]) -> Chances:
    """Return branches side by side: the first is all a, the second all b, and so on."""
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
    """Return an example as a position. It has no target, so p is 0."""
    rows = {path_of(place): row_of(guesses) for place, guesses in example.chances.items()}
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
        spelling={"0": "root"} | {str(token): chr(96 + token) for token in letters},
        machine="",
        dtype="",
        versions={},
        draft_seconds=[],
        verify_seconds=0.0,
        rows=rows,
    )


def path_of(place: str) -> Path:
    """Convert letters to tokens: a is 1."""
    return tuple(ord(letter) - 96 for letter in place)


def row_of(guesses: Sequence[tuple[str, float]]) -> Row:
    """Return guesses with their probabilities as a row: log-probabilities in float32."""
    import torch  # imported late: the page shows titles before any question

    chances = torch.tensor([chance for _, chance in guesses], dtype=torch.float64)
    tokens = [ord(letter) - 96 for letter, _ in guesses]
    return Row(tokens, chances.log().float().tolist(), [0.0] * len(tokens), tokens[0], 0.0)
