"""Where speculation pays and where it loses, by batch size: the speed law on a roofline.

A round drafts level by level, one drafter pass a level, and checks all guesses in one target pass.
Every sequence of the batch is taken to bring the average, as with continuous batching; a batch that
waits for its slowest sequence brings less. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from specviz.cost import law, trees
from specviz.cost.checks import not_negative
from specviz.cost.roofline import Serving, memory_needed, pass_time
from specviz.cost.shapes import ModelShape

BATCHES: Final = tuple(2**power for power in range(10))  # 1 to 512


@dataclass(frozen=True, slots=True)
class Guessing:
    """What a drafter's round brings and holds.

    tokens: brought on average, the target's own among them. widths: guesses by level, all 1 for a
    chain. draft: the drafter's shape, which reads its own weights and cache; None: drafting costs
    nothing (n-gram).
    """

    tokens: float
    widths: tuple[int, ...]
    draft: ModelShape | None = None

    def __post_init__(self) -> None:
        if min(self.widths, default=1) < 1:
            raise ValueError("Every level of a draft holds one guess at least.")
        if not 1.0 <= self.tokens <= 1.0 + len(self.widths) + law.SAME:
            most = 1 + len(self.widths)
            raise ValueError(f"A round brings 1 to {most} tokens here, and {self.tokens:g} is not.")

    @classmethod
    def chain(cls, alpha: float, gamma: int, draft: ModelShape | None = None) -> Self:
        """γ guesses one after the other, each kept with chance α."""
        return cls(law.expected_tokens(alpha, gamma), (1,) * gamma, draft)

    @classmethod
    def tree(
        cls, parents: Sequence[int], keep: Sequence[float], draft: ModelShape | None = None
    ) -> Self:
        """A tree as in trees.py."""
        sizes = Counter(trees.depths(parents))
        widths = tuple(sizes[level] for level in range(1, max(sizes) + 1))
        return cls(trees.expected_tokens(parents, keep), widths, draft)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A round and a plain pass at one batch size, in seconds.

    tokens: what the round brings to each sequence. fits: whether weights and caches of target and
    drafter fit into the memory.
    """

    origin: ClassVar[str] = "simulated"
    batch: int
    tokens: float
    plain: float
    draft: float
    verify: float
    fits: bool

    @property
    def speedup(self) -> float:
        """Over plain decoding with the same batch; below 1 speculation loses."""
        return law.speedup_of(self.tokens, self.draft / self.plain, self.verify / self.plain)

    @property
    def tokens_per_second(self) -> float:
        """Of the whole batch, with speculation."""
        return self.batch * self.tokens / (self.draft + self.verify)

    @property
    def plain_tokens_per_second(self) -> float:
        """Of the whole batch, without."""
        return self.batch / self.plain


def predict(serving: Serving, guessing: Guessing, batch: int) -> Prediction:
    """One round of `guessing` on `serving`, beside one plain pass."""
    checked = 1 + sum(guessing.widths)  # the last committed token is in the pass too
    drafting, needed = 0.0, memory_needed(serving, batch, checked)
    if guessing.draft and guessing.widths:
        drafter = replace(serving, shape=guessing.draft)
        reads = (1, *guessing.widths[:-1])  # a level's pass reads the level before
        drafting = sum(pass_time(drafter, batch, width).seconds for width in reads)
        needed += memory_needed(drafter, batch, checked)
    plain = pass_time(serving, batch).seconds
    verify = pass_time(serving, batch, checked).seconds
    room = serving.cards * serving.hardware.memory
    return Prediction(batch, guessing.tokens, plain, drafting, verify, needed <= room)


def best_chain(
    serving: Serving, alpha: float, batch: int, draft: ModelShape | None = None, limit: int = 32
) -> law.Optimum:
    """The chain length up to `limit` with the best predicted speed-up, the smallest of equals."""
    not_negative("The longest chain", limit)
    chains = [Guessing.chain(alpha, gamma, draft) for gamma in range(limit + 1)]
    gains = [predict(serving, chain, batch).speedup for chain in chains]
    gamma = next(g for g, gain in enumerate(gains) if gain >= max(gains) * (1.0 - law.SAME))
    return law.Optimum(gamma, gains[gamma])


def best_gamma(
    serving: Serving, alpha: float, batch: int, draft: ModelShape | None = None, limit: int = 32
) -> int:
    """The draft length of that chain."""
    return best_chain(serving, alpha, batch, draft, limit).gamma or 0


def first_loss(serving: Serving, guessing: Guessing, limit: int = 512) -> int | None:
    """The smallest batch size at which speculation is slower than plain decoding; None: none."""
    sizes = range(1, limit + 1)
    return next((b for b in sizes if predict(serving, guessing, b).speedup < 1.0 - law.SAME), None)
