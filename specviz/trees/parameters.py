"""A dynamic tree's three numbers, under each engine's own names.

Rule: it is one tree whatever it is called. `depth` counts the levels of guesses and `budget` the
guesses alone. SGLang's num_draft_tokens and EAGLE's total_tokens count the root too; EAGLE's depth
counts the passes after the first, so one less than the levels (DRAFTERS.md 6.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.settings.settings import MAX_GUESSES


class BadTree(ValueError):
    """No such tree can be grown or read; the message is a sentence."""


def check_range(called: str, value: Any, least: int, most: int) -> int:
    """A whole number between bounds. Raises BadTree."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadTree(f"{called} is a whole number from {least} to {most}, not {value!r:.40}.")
    return value


DEEPEST: Final = 16
WIDEST: Final = 16


@dataclass(frozen=True, slots=True)
class Parameters:
    """depth: levels of guesses. width: guesses weighed under a node, and nodes of a level that go
    on. budget: guesses that are kept. Raises BadTree.
    """

    depth: int
    width: int
    budget: int

    def __post_init__(self) -> None:
        check_range("The depth", self.depth, 1, DEEPEST)
        check_range("The branching (top-k)", self.width, 1, WIDEST)
        check_range("The budget", self.budget, 1, MAX_GUESSES)

    @classmethod
    def sglang(cls, steps: int, topk: int, num_draft_tokens: int) -> Self:
        """From --speculative-num-steps, -eagle-topk and -num-draft-tokens."""
        check_range(
            "num_draft_tokens, which counts the root,", num_draft_tokens, 2, MAX_GUESSES + 1
        )
        return cls(steps, topk, num_draft_tokens - 1)

    @classmethod
    def eagle(cls, total_tokens: int, depth: int, top_k: int) -> Self:
        """From total_tokens, depth and top_k of SafeAILab's EAGLE-2 and EAGLE-3."""
        check_range("total_tokens, which counts the root,", total_tokens, 2, MAX_GUESSES + 1)
        check_range("EAGLE’s depth", depth, 0, DEEPEST - 1)
        return cls(depth + 1, top_k, total_tokens - 1)

    @classmethod
    def of(cls, data: Any) -> Self:
        """From plain data under one engine's names; ours are depth, width and budget."""
        ways: dict[tuple[str, ...], Callable[..., Self]] = {
            ("depth", "width", "budget"): cls,
            ("steps", "topk", "num_draft_tokens"): cls.sglang,
            ("total_tokens", "depth", "top_k"): cls.eagle,
        }
        for names, made in ways.items():
            if isinstance(data, Mapping) and set(data) == set(names):
                return made(**data)
        known = "; ".join(", ".join(names) for names in ways)
        raise BadTree(f"A dynamic tree has three numbers, under one engine’s names: {known}.")

    def check_vocabulary(self, size: int) -> None:
        """Raise BadTree where more guesses are asked for than there are tokens."""
        if self.width > size:
            sentence = f"Top-k {self.width} is more than the {size} tokens that the drafter knows."
            raise BadTree(sentence)

    @property
    def names(self) -> dict[str, dict[str, int]]:
        """The same three numbers as each engine calls them."""
        return {
            "specviz": {"gamma": self.depth, "fan_out": self.width, "budget": self.budget},
            "SGLang": {
                "steps": self.depth,
                "topk": self.width,
                "num_draft_tokens": self.budget + 1,
            },
            "EAGLE": {
                "total_tokens": self.budget + 1,
                "depth": self.depth - 1,
                "top_k": self.width,
            },
        }

    @property
    def pool(self) -> int:
        """How many guesses are weighed where no branch ends early: k + (d − 1) k²."""
        return self.width + (self.depth - 1) * self.width**2


# title, and the three numbers. The defaults are SGLang's by model; 60 tokens are EAGLE's own.
PRESETS: Final[tuple[tuple[str, Parameters], ...]] = (
    ("House: depth 5, best 24", Parameters(5, 6, 24)),
    ("SGLang 6, 10, 60", Parameters.sglang(6, 10, 60)),
    ("SGLang 5, 4, 8 (Llama, Grok)", Parameters.sglang(5, 4, 8)),
    ("SGLang 3, 1, 4: a chain", Parameters.sglang(3, 1, 4)),
    ("EAGLE-2: 60 tokens, depth 5, k 10", Parameters.eagle(60, 5, 10)),
)
