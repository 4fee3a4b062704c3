"""How long a target pass takes, at best: the longer of reading its bytes and doing its arithmetic.

Weights and cache are read once, however many tokens are in the pass; arithmetic grows with every
token. So guesses ride for free until arithmetic takes longer than reading. A lower bound: real
kernels reach a part of either peak, and launches come on top. Roofline: Williams, Waterman and
Patterson, Communications of the ACM 52(4), 2009. Standard library only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, Self

from specviz.cost import formula, tree_formula
from specviz.cost.checks import check_not_negative, check_positive, check_probability
from specviz.cost.model_shape import ModelShape, bytes_per_number


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
            check_positive(f"Every figure of {self.name}", value)

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
        check_positive("The number of cards", self.cards)
        check_not_negative("The context", self.context)
        check_not_negative("The overhead", self.overhead)
        for name, share in (("bandwidth", self.reading), ("arithmetic", self.computing)):
            check_positive(
                f"The share of the peak {name}",
                check_probability(f"The share of the {name}", share),
            )


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
    check_positive("The batch size", batch)
    check_positive("The number of tokens", tokens)
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
    check_positive("The batch size", batch)
    cache = batch * (serving.context + tokens) * serving.shape.cache_bytes(serving.dtype)
    return serving.shape.parameters * bytes_per_number(serving.dtype) + cache


def fits_in_memory(serving: Serving, batch: int, tokens: int = 1) -> bool:
    """Whether weights and caches fit into the memory of the cards."""
    return memory_needed(serving, batch, tokens) <= serving.cards * serving.hardware.memory


BATCHES: Final = tuple(2**power for power in range(10))  # 1 to 512


@dataclass(frozen=True, slots=True)
class DraftPlan:
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
        if not 1.0 <= self.tokens <= 1.0 + len(self.widths) + formula.TOLERANCE:
            most = 1 + len(self.widths)
            raise ValueError(f"A round brings 1 to {most} tokens here, and {self.tokens:g} is not.")

    @classmethod
    def chain(cls, alpha: float, gamma: int, draft: ModelShape | None = None) -> Self:
        """γ guesses one after the other, each kept with chance α."""
        return cls(formula.expected_tokens(alpha, gamma), (1,) * gamma, draft)

    @classmethod
    def tree(
        cls, parents: Sequence[int], keep: Sequence[float], draft: ModelShape | None = None
    ) -> Self:
        """A tree as in trees.py."""
        sizes = Counter(tree_formula.depths(parents))
        widths = tuple(sizes[level] for level in range(1, max(sizes) + 1))
        return cls(tree_formula.expected_tokens(parents, keep), widths, draft)


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
        return formula.speedup_from_tokens(
            self.tokens, self.draft / self.plain, self.verify / self.plain
        )

    @property
    def tokens_per_second(self) -> float:
        """Of the whole batch, with speculation."""
        return self.batch * self.tokens / (self.draft + self.verify)

    @property
    def plain_tokens_per_second(self) -> float:
        """Of the whole batch, without."""
        return self.batch / self.plain


def predict(serving: Serving, guessing: DraftPlan, batch: int) -> Prediction:
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
) -> formula.Optimum:
    """The chain length up to `limit` with the best predicted speed-up, the smallest of equals."""
    check_not_negative("The longest chain", limit)
    chains = [DraftPlan.chain(alpha, gamma, draft) for gamma in range(limit + 1)]
    gains = [predict(serving, chain, batch).speedup for chain in chains]
    gamma = next(
        g for g, gain in enumerate(gains) if gain >= max(gains) * (1.0 - formula.TOLERANCE)
    )
    return formula.Optimum(gamma, gains[gamma])


def best_gamma(
    serving: Serving, alpha: float, batch: int, draft: ModelShape | None = None, limit: int = 32
) -> int:
    """The draft length of that chain."""
    return best_chain(serving, alpha, batch, draft, limit).gamma or 0


def first_losing_batch(serving: Serving, guessing: DraftPlan, limit: int = 512) -> int | None:
    """The smallest batch size at which speculation is slower than plain decoding; None: none."""
    sizes = range(1, limit + 1)
    return next(
        (b for b in sizes if predict(serving, guessing, b).speedup < 1.0 - formula.TOLERANCE), None
    )
