"""How long a target pass takes, at best: the longer of reading its bytes and doing its arithmetic.

Weights and cache are read once, however many tokens are in the pass; arithmetic grows with every
token. So guesses ride for free until arithmetic takes longer than reading. A lower bound: real
kernels reach a part of either peak, and launches come on top. Roofline: Williams, Waterman and
Patterson, Communications of the ACM 52(4), 2009. Standard library only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from specviz.cost.checks import chance, not_negative, positive
from specviz.cost.shapes import ModelShape, width


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a data sheet promises of one chip.

    peak: by dtype, operations a second of dense matrix products. bandwidth: bytes a second between
    chip and memory. memory: bytes.
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    memory: float

    def __post_init__(self) -> None:
        if not self.peak:
            raise ValueError(f"{self.name} needs a peak for one dtype at least.")
        for value in (*self.peak.values(), self.bandwidth, self.memory):
            positive(f"Every figure of {self.name}", value)

    def peak_in(self, dtype: str) -> float:
        """Operations a second in `dtype`."""
        if dtype not in self.peak:
            raise ValueError(f"{self.name} has no figure for {dtype}, only {', '.join(self.peak)}.")
        return self.peak[dtype]

    def ridge(self, dtype: str) -> float:
        """Operations per byte from which on arithmetic, not memory, is the limit."""
        return self.peak_in(dtype) / self.bandwidth


@dataclass(frozen=True, slots=True)
class Serving:
    """A model on hardware. context: tokens in each sequence's cache before the pass.

    cards: chips that share the work evenly, their talking for free. overhead: seconds that every
    pass takes besides, such as launches; 0 unless it was measured. reading, computing: the share of
    the peak bandwidth and of the peak arithmetic that is reached; 1 is the data sheet's.
    """

    shape: ModelShape
    hardware: Hardware
    dtype: str
    context: int = 512
    cards: int = 1
    overhead: float = 0.0
    reading: float = 1.0
    computing: float = 1.0

    def __post_init__(self) -> None:
        self.hardware.peak_in(self.dtype)
        positive("The number of cards", self.cards)
        not_negative("The context", self.context)
        not_negative("The overhead", self.overhead)
        for name, share in (("bandwidth", self.reading), ("arithmetic", self.computing)):
            positive(f"The share of the peak {name}", chance(f"The share of the {name}", share))


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds that a pass needs for its bytes, for its arithmetic, and besides."""

    origin: ClassVar[str] = "simulated"
    memory: float
    compute: float
    overhead: float = 0.0

    @property
    def seconds(self) -> float:
        """The longer of the two, since they overlap, and what comes on top."""
        return max(self.memory, self.compute) + self.overhead

    @property
    def bound(self) -> Literal["memory", "compute"]:
        """Which of the two is the limit."""
        return "memory" if self.memory >= self.compute else "compute"


def pass_time(serving: Serving, batch: int, tokens: int = 1) -> PassTime:
    """A pass over `tokens` new tokens of each of `batch` sequences.

    Bytes: the weights once; of every sequence the cache once, and the new tokens' part written.
    """
    positive("The batch size", batch)
    positive("The number of tokens", tokens)
    shape, dtype, cards = serving.shape, serving.dtype, serving.cards
    entries = batch * (serving.context + tokens)
    moved = shape.weight_bytes(dtype) + entries * shape.cache_bytes(dtype)
    work = batch * shape.flops(tokens, serving.context)
    return PassTime(
        moved / (cards * serving.hardware.bandwidth * serving.reading),
        work / (cards * serving.hardware.peak_in(dtype) * serving.computing),
        serving.overhead,
    )


def free_tokens(serving: Serving, batch: int) -> int:
    """How many tokens of each sequence fit in a pass before arithmetic takes longer than reading.

    0: even plain decoding is bound by arithmetic. The first token is the text's own; the rest of
    them are guesses that cost next to nothing to check.
    """

    def bound(tokens: int) -> bool:
        return pass_time(serving, batch, tokens).bound == "compute"

    return bisect_left(range(1, 2**31), True, key=bound)


def memory_needed(serving: Serving, batch: int, tokens: int = 1) -> float:
    """Bytes that weights and caches take on all cards together; activations are left out."""
    positive("The batch size", batch)
    cache = batch * (serving.context + tokens) * serving.shape.cache_bytes(serving.dtype)
    return serving.shape.parameters * width(serving.dtype) + cache


def fits(serving: Serving, batch: int, tokens: int = 1) -> bool:
    """Whether weights and caches fit into the memory of the cards."""
    return memory_needed(serving, batch, tokens) <= serving.cards * serving.hardware.memory
