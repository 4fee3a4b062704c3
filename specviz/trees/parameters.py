"""The three numbers of a dynamic tree under each engine's names, and errors for invalid trees.

The tree is the same whatever its numbers are called. `depth` counts levels of guesses and `budget`
counts guesses. SGLang's num_draft_tokens and EAGLE's total_tokens include the root; EAGLE's depth
counts the passes after the first, so it is one less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.settings.settings import MAX_GUESSES


class BadTree(ValueError):
    """A tree that cannot be grown or read; the message is a sentence."""


def check_range(called: str, value: Any, least: int, most: int) -> int:
    """Return an integer that lies within bounds. Raises BadTree."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadTree(f"{called} must be an integer from {least} to {most}, not {value!r:.40}.")
    return value


DEEPEST: Final = 16
WIDEST: Final = 16


@dataclass(frozen=True, slots=True)
class Parameters:
    """The size of a dynamic tree. Raises BadTree if a number is out of range.

    Attributes:
        depth: Levels of guesses.
        width: Guesses per node, and nodes per level that are expanded.
        budget: Guesses that are kept.
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
        """Convert --speculative-num-steps, -eagle-topk and -num-draft-tokens."""
        check_range(
            "num_draft_tokens, which includes the root,", num_draft_tokens, 2, MAX_GUESSES + 1
        )
        return cls(steps, topk, num_draft_tokens - 1)

    @classmethod
    def eagle(cls, total_tokens: int, depth: int, top_k: int) -> Self:
        """Convert total_tokens, depth and top_k of SafeAILab's EAGLE-2 and EAGLE-3."""
        check_range("total_tokens, which includes the root,", total_tokens, 2, MAX_GUESSES + 1)
        check_range("EAGLE’s depth", depth, 0, DEEPEST - 1)
        return cls(depth + 1, top_k, total_tokens - 1)

    @classmethod
    def of(cls, data: Any) -> Self:
        """Read plain data with one engine's names; ours are depth, width and budget."""
        ways: dict[tuple[str, ...], Callable[..., Self]] = {
            ("depth", "width", "budget"): cls,
            ("steps", "topk", "num_draft_tokens"): cls.sglang,
            ("total_tokens", "depth", "top_k"): cls.eagle,
        }
        for names, build in ways.items():
            if isinstance(data, Mapping) and set(data) == set(names):
                return build(**data)
        known = "; ".join(", ".join(names) for names in ways)
        raise BadTree(f"A dynamic tree has three numbers, with the names of one engine: {known}.")

    def check_vocabulary(self, size: int) -> None:
        """Raise BadTree if top-k exceeds the number of tokens."""
        if self.width > size:
            sentence = f"Top-k {self.width} exceeds the {size} tokens that the drafter knows."
            raise BadTree(sentence)

    @property
    def names(self) -> dict[str, dict[str, int]]:
        """The three numbers under each engine's names."""
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
        """The size of the pool if no branch ends early: k + (d − 1) k²."""
        return self.width + (self.depth - 1) * self.width**2


# Title and size. The presets named SGLang are its defaults by model; 60 tokens are EAGLE's.
PRESETS: Final[tuple[tuple[str, Parameters], ...]] = (
    ("House: depth 5, best 24", Parameters(5, 6, 24)),
    ("SGLang 6, 10, 60", Parameters.sglang(6, 10, 60)),
    ("SGLang 5, 4, 8 (Llama, Grok)", Parameters.sglang(5, 4, 8)),
    ("SGLang 3, 1, 4: a chain", Parameters.sglang(3, 1, 4)),
    ("EAGLE-2: 60 tokens, depth 5, k 10", Parameters.eagle(60, 5, 10)),
)
