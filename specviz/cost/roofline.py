"""Pass time by the roofline, from model shape and hardware, and speculative decoding by batch size.

A pass takes the longer of reading its bytes and computing its operations. Weights and cache are
read once per pass, however many tokens it has, and arithmetic grows with every token. So
verification is free while the pass is memory-bound. This is a lower bound: real kernels reach a
fraction of each peak, and launching them takes additional time. Roofline: Williams, Waterman and
Patterson, CACM 52(4), 2009.

Shapes are decoders in Llama's layout: grouped-query attention, a gated MLP (three matrices),
RMSNorm. Operations are those of matrix products and attention, with a multiply-add counted as two;
embedding lookups, norms and softmax are ignored.

A round drafts level by level, one drafter pass per level, and verifies all draft tokens in one
target pass. Every sequence of a batch is assumed to add the mean number of tokens per round, as
with continuous batching; a batch that waits for its slowest sequence is slower.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self

from specviz.cost import formula
from specviz.cost.formula import check_not_negative, check_positive, check_probability
from specviz.settings.suggestion import did_you_mean

BYTES_PER_NUMBER: Final[Mapping[str, int]] = {"fp32": 4, "bf16": 2, "fp16": 2}  # bytes per number


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Layers, widths and counts as in config.json; qk_norm: whether queries and keys are normed."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    qk_norm: bool

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name not in ("tied", "qk_norm"):
                check_positive(f"The model's {field.name}", getattr(self, field.name))

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """Return the shape described by a config.json of transformers."""
        try:
            heads = config["num_attention_heads"]
            return cls(
                layers=config["num_hidden_layers"],
                hidden=config["hidden_size"],
                heads=heads,
                kv_heads=config.get("num_key_value_heads", heads),
                head_dim=config.get("head_dim") or config["hidden_size"] // heads,
                intermediate=config["intermediate_size"],
                vocabulary=config["vocab_size"],
                tied=config.get("tie_word_embeddings", False),
                qk_norm=config.get("model_type") == "qwen3",
            )
        except KeyError as missing:
            raise ValueError(f"This config lacks {missing}.") from None

    @property
    def matrices(self) -> int:
        """Number of weights that every token is multiplied with, including the output head."""
        attention = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)  # q, o; k, v
        mlp = 3 * self.hidden * self.intermediate  # gate, up, down
        return self.layers * (attention + mlp) + self.hidden * self.vocabulary

    @property
    def parameters(self) -> int:
        """Number of parameters: matrices, norms, and the embedding table if it is not the head."""
        return self._read + (0 if self.tied else self.hidden * self.vocabulary)

    @property
    def _read(self) -> int:
        # Without the few rows of an untied embedding.
        norms = (2 * self.layers + 1) * self.hidden
        return self.matrices + norms + (2 * self.layers * self.head_dim if self.qk_norm else 0)

    def flops(self, tokens: int, context: int) -> float:
        """Return the operations of a pass over `tokens` new tokens after `context` cached ones.

        There are 2 operations per weight and token. Attention has 4 per head, head dimension, and
        pair of a token and a position (2 for the score, 2 for the weighted sum), including masked
        pairs.
        """
        check_not_negative("The number of tokens", tokens)
        check_not_negative("The context", context)
        pairs = tokens * (context + tokens)
        return 2.0 * tokens * self.matrices + 4.0 * self.layers * self.heads * self.head_dim * pairs

    def weight_bytes(self, dtype: str) -> float:
        """Return the bytes of weights that one pass reads, whatever its number of tokens."""
        return float(self._read * bytes_per_number(dtype))

    def cache_bytes(self, dtype: str) -> float:
        """Return the bytes of keys and values per cached token, over all layers."""
        return 2.0 * self.layers * self.kv_heads * self.head_dim * bytes_per_number(dtype)


def bytes_per_number(dtype: str) -> int:
    """Return the bytes of one number."""
    if dtype not in BYTES_PER_NUMBER:
        hint = did_you_mean(dtype, BYTES_PER_NUMBER)
        raise ValueError(f"{dtype} must be one of {', '.join(BYTES_PER_NUMBER)}.{hint}")
    return BYTES_PER_NUMBER[dtype]


@dataclass(frozen=True, slots=True)
class Hardware:
    """One device, as described in its data sheet.

    Attributes:
        peak: Operations per second of dense matrix products, by dtype.
        bandwidth: Bytes per second between device and memory.
        memory: Memory of the device, in bytes.
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    memory: float

    def __post_init__(self) -> None:
        if not self.peak:
            raise ValueError(f"{self.name} needs a peak for at least one dtype.")
        for value in (*self.peak.values(), self.bandwidth, self.memory):
            check_positive(f"Every figure of {self.name}", value)

    def peak_in(self, dtype: str) -> float:
        """Return the peak operations per second in `dtype`."""
        if dtype not in self.peak:
            raise ValueError(
                f"{self.name} has no peak for {dtype}, only for {', '.join(self.peak)}."
            )
        return self.peak[dtype]

    def ridge(self, dtype: str) -> float:
        """Return how many operations per byte make a pass compute-bound."""
        return self.peak_in(dtype) / self.bandwidth


@dataclass(frozen=True, slots=True)
class Serving:
    """A model on hardware.

    Attributes:
        context: Tokens in each sequence's cache before the pass.
        cards: Number of devices, which share the work evenly; communication is not counted.
        overhead: Additional seconds per pass, such as for kernel launches; 0 unless
            measured.
        reading: Share of the peak bandwidth that real programs reach.
        computing: Share of the peak operations per second that real programs reach.
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
        check_positive("The number of devices", self.cards)
        check_not_negative("The context", self.context)
        check_not_negative("The overhead", self.overhead)
        for name, share in (("bandwidth", self.reading), ("arithmetic", self.computing)):
            check_positive(
                f"The share of the peak {name}",
                check_probability(f"The share of the {name}", share),
            )


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds that a pass needs for memory reads, for arithmetic, and as overhead."""

    memory: float
    compute: float
    overhead: float = 0.0

    @property
    def seconds(self) -> float:
        """The longer of reads and arithmetic, which run at the same time, plus the overhead."""
        return max(self.memory, self.compute) + self.overhead

    @property
    def bound(self) -> Literal["memory", "compute"]:
        """What limits the pass: memory or arithmetic."""
        return "memory" if self.memory >= self.compute else "compute"


def pass_time(serving: Serving, batch: int, tokens: int = 1) -> PassTime:
    """Return the time of a pass over `tokens` new tokens for each of `batch` sequences."""
    work = batch * serving.shape.flops(tokens, serving.context)
    return _pass_time(serving, batch, batch * tokens, work)


def shared_pass_time(serving: Serving, batch: int, tokens: int) -> PassTime:
    """Return the time of a pass over `tokens` new tokens in total, for `batch` sequences."""
    work = tokens * serving.shape.flops(1, serving.context)
    return _pass_time(serving, batch, tokens, work)


def _pass_time(serving: Serving, batch: int, tokens: int, work: float) -> PassTime:
    # tokens: of all sequences together.
    check_positive("The batch size", batch)
    check_positive("The number of tokens", tokens)
    shape, dtype, cards = serving.shape, serving.dtype, serving.cards
    entries = batch * serving.context + tokens
    moved = shape.weight_bytes(dtype) + entries * shape.cache_bytes(dtype)
    return PassTime(
        moved / (cards * serving.hardware.bandwidth * serving.reading),
        work / (cards * serving.hardware.peak_in(dtype) * serving.computing),
        serving.overhead,
    )


def free_tokens(serving: Serving, batch: int) -> int:
    """Return how many tokens per sequence a pass can have before it becomes compute-bound.

    The first of these tokens is the last committed token; the rest are draft tokens, which take
    almost no time to verify. 0 means that even plain decoding is compute-bound.
    """

    def bound(tokens: int) -> bool:
        return pass_time(serving, batch, tokens).bound == "compute"

    return bisect_left(range(1, 2**31), True, key=bound)


def memory_needed(serving: Serving, batch: int, tokens: int = 1) -> float:
    """Return the bytes of weights and caches on all devices together, without activations."""
    check_positive("The batch size", batch)
    cache = batch * (serving.context + tokens) * serving.shape.cache_bytes(serving.dtype)
    return serving.shape.parameters * bytes_per_number(serving.dtype) + cache


BATCHES: Final = tuple(2**power for power in range(10))  # batch sizes from 1 to 512


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The drafts of a round.

    Attributes:
        tokens: Mean tokens per round, including the target's own.
        widths: Number of draft tokens in each level; 1 in a chain.
        draft: The drafter's shape, with its own weights and cache; None if drafting takes no time.
    """

    tokens: float
    widths: tuple[int, ...]
    draft: ModelShape | None = None

    def __post_init__(self) -> None:
        if min(self.widths, default=1) < 1:
            raise ValueError("Every level of a draft needs at least one token.")
        if not 1.0 <= self.tokens <= 1.0 + len(self.widths) + formula.TOLERANCE:
            most = 1 + len(self.widths)
            raise ValueError(f"A round yields 1 to {most} tokens here, not {self.tokens:g}.")

    @classmethod
    def chain(cls, alpha: float, gamma: int, draft: ModelShape | None = None) -> Self:
        """Return the plan of a chain of γ draft tokens, each accepted with probability α."""
        return cls(formula.expected_tokens(alpha, gamma), (1,) * gamma, draft)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A round and a plain pass of `batch` sequences, in seconds; fits: whether memory suffices."""

    batch: int
    tokens: float
    plain: float
    draft: float
    verify: float
    fits: bool

    @property
    def speedup(self) -> float:
        """Speed-up relative to plain decoding at the same batch size; below 1 if slower."""
        return formula.speedup_from_tokens(
            self.tokens, self.draft / self.plain, self.verify / self.plain
        )

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of the whole batch, with speculative decoding."""
        return self.batch * self.tokens / (self.draft + self.verify)

    @property
    def plain_tokens_per_second(self) -> float:
        """Tokens per second of the whole batch, with plain decoding."""
        return self.batch / self.plain


def predict(serving: Serving, guessing: DraftPlan, batch: int) -> Prediction:
    """Predict one round on `serving`, and one plain pass."""
    checked, drafting = 1 + sum(guessing.widths), 0.0  # including the last committed token
    if guessing.draft and guessing.widths:
        drafter = replace(serving, shape=guessing.draft)
        reads = Counter((1, *guessing.widths[:-1]))  # each pass reads the level before
        drafting = sum(
            count * pass_time(drafter, batch, width).seconds for width, count in reads.items()
        )
    plain = pass_time(serving, batch).seconds
    verify = pass_time(serving, batch, checked).seconds
    available = serving.cards * serving.hardware.memory
    fits = round_memory(serving, guessing, batch) <= available
    return Prediction(batch, guessing.tokens, plain, drafting, verify, fits)


def round_memory(serving: Serving, guessing: DraftPlan, batch: int) -> float:
    """Return the bytes of weights and caches in a round, those of the drafter included."""
    checked = 1 + sum(guessing.widths)
    needed = memory_needed(serving, batch, checked)
    if guessing.draft and guessing.widths:
        needed += memory_needed(replace(serving, shape=guessing.draft), batch, checked)
    return needed


def largest_fitting_batch(serving: Serving, guessing: DraftPlan, limit: int) -> int:
    """Return the largest batch size up to `limit` that fits in memory; 0 if none does."""
    sizes = range(1, limit + 1)
    return bisect_left(sizes, True, key=lambda b: not predict(serving, guessing, b).fits)


def best_chain(
    serving: Serving, alpha: float, batch: int, draft: ModelShape | None = None, limit: int = 32
) -> formula.Optimum:
    """Return the fastest chain of at most `limit` tokens; of equally fast ones, the shortest."""
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
    """Return the length of the best chain."""
    return best_chain(serving, alpha, batch, draft, limit).gamma or 0


def first_losing_batch(serving: Serving, guessing: DraftPlan, limit: int = 512) -> int | None:
    """Return the smallest batch size at which speculation is slower, or None if there is none."""
    sizes = range(1, limit + 1)
    return next(
        (b for b in sizes if predict(serving, guessing, b).speedup < 1.0 - formula.TOLERANCE), None
    )
