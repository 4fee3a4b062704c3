"""A sweep: how the duration of a target pass depends on its number of tokens.

It is compared with the machine's roofline. Only measurements are stored; other numbers are computed
here, and only `predicted` is simulated. The peaks were measured on the same machine at the same
time, not taken from a data sheet. The measurement is in specviz/bench/sweep.py.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import quantiles
from typing import Final, Self

from specviz.cost.formula import check_not_negative, check_positive
from specviz.cost.roofline import (
    Hardware,
    ModelShape,
    PassTime,
    Serving,
    bytes_per_number,
    free_tokens,
    pass_time,
)
from specviz.shipped import ASSETS, read_shipped_text
from specviz.trace.codec import from_plain, to_plain

# Numbers of tokens: 1 is plain decoding; 5 and 17 are a chain of 4 draft tokens and a tree of 16,
# plus the root.
SIZES: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 24, 32, 48, 64)
CONTEXT: Final = 128
KIND: Final = {"format": "specviz-sweep", "version": 1}
SHIPPED_FILE: Final = ASSETS / "cost" / "sweep.json"
DTYPES: Final = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


class SweepError(ValueError):
    """Raised if a file does not contain a valid sweep; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class PassSamples:
    """Passes over `tokens` new tokens, with the seconds of each, in the order measured."""

    tokens: int
    seconds: list[float]

    def __post_init__(self) -> None:
        check_positive("The number of tokens in a pass", self.tokens)
        _check_times(f"Passes over {self.tokens} tokens", self.seconds)

    @property
    def median(self) -> float:
        """Median seconds of such a pass."""
        return statistics.median(self.seconds)


WIDEST: Final = 2048  # tokens in the largest pass that is measured or predicted
FLAT: Final = 1.1  # plain passes; a pass that takes at most this counts as no longer


@dataclass(frozen=True)
class Sweep:
    """A measured sweep.

    Attributes:
        context: Tokens in the cache before each pass.
        seed: Seed of the order of passes.
        rounds: Number of passes planned for each size.
        flops: Operations per second of large matrix products, one number per product.
        bandwidth: Bytes per second when reading an array of the weights' size.
        points: The passes, by increasing number of tokens; only sizes that were measured.
    """

    target: str
    shape: ModelShape
    machine: str
    processor: str
    dtype: str
    threads: int
    versions: dict[str, str]
    context: int
    seed: int
    rounds: int
    flops: list[float]
    bandwidth: list[float]
    points: list[PassSamples]

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"The dtype {self.dtype!r} is not supported.")
        check_not_negative("The context", self.context)
        check_positive("The number of rounds", self.rounds)
        if any(a.tokens >= b.tokens for a, b in pairwise(self.points)):
            raise ValueError("The points of a sweep must be in increasing order of tokens.")
        for name, values in (("Products", self.flops), ("Reads", self.bandwidth)):
            if values:
                _check_times(name, values)

    @cached_property
    def by_tokens(self) -> dict[int, float]:
        """Median seconds of a pass, by its number of tokens."""
        return {point.tokens: point.median for point in self.points}

    @property
    def complete(self) -> bool:
        """Whether every size was measured as often as planned."""
        seen = {point.tokens: len(point.seconds) for point in self.points}
        return all(seen.get(size, 0) >= self.rounds for size in SIZES)

    @property
    def plain(self) -> float | None:
        """Seconds of a plain pass, which has one token; None if it was not measured."""
        return self.by_tokens.get(1)

    def passes(self, tokens: int) -> float | None:
        """Return how many plain passes a pass over `tokens` tokens takes; None if not measured."""
        seconds, plain_pass = self.by_tokens.get(tokens), self.plain
        return seconds / plain_pass if seconds and plain_pass else None

    @property
    def peaks(self) -> tuple[float, float] | None:
        """The highest measured operations and bytes per second; None until both were measured."""
        return (max(self.flops), max(self.bandwidth)) if self.flops and self.bandwidth else None

    def predicted(self, tokens: int, overhead: float = 0.0) -> PassTime | None:
        """Return the roofline's prediction at the measured peaks; None without peaks."""
        serving = self.serving(overhead)
        return None if serving is None else pass_time(serving, 1, tokens)

    def serving(self, overhead: float = 0.0) -> Serving | None:
        """Return the model on a machine with the measured peaks; None without peaks."""
        if self.peaks is None:
            return None
        dtype, (flops, bandwidth) = DTYPES[self.dtype], self.peaks
        # The memory size does not affect the time; it is set to that of the model.
        memory = self.shape.parameters * bytes_per_number(dtype)
        machine = Hardware(self.machine, {dtype: flops}, bandwidth, float(memory))
        return Serving(self.shape, machine, dtype, self.context, overhead=overhead)

    @cached_property
    def free(self) -> int | None:
        """The tokens that the roofline's pass can have before arithmetic limits it, if known."""
        serving = self.serving()
        return None if serving is None else free_tokens(serving, 1)

    @property
    def flat(self) -> int:
        """The largest size up to which every measured pass takes about as long as a plain one."""
        costly = (one.tokens for one in self.points if (self.passes(one.tokens) or 0.0) > FLAT)
        first = next(costly, WIDEST + 1)
        return max((one.tokens for one in self.points if one.tokens < first), default=1)

    @property
    def share_of_memory_speed(self) -> float | None:
        """Share of the measured bandwidth that a plain pass reaches; None if unknown."""
        line, seconds = self.predicted(1), self.plain
        return line.memory / seconds if line and seconds else None

    def excess(self, tokens: int) -> float | None:
        """Return by how many seconds a pass took longer than the roofline; None if unknown."""
        seconds, line = self.by_tokens.get(tokens), self.predicted(tokens)
        return None if seconds is None or line is None else seconds - line.seconds

    @property
    def overhead(self) -> float | None:
        """By how many seconds a plain pass takes longer than the roofline; None if unknown."""
        return self.excess(1)

    def to_text(self) -> str:
        """Return the text of a file."""
        return json.dumps(KIND | to_plain(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the text of a file. Raises SweepError if it is not a valid sweep."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise SweepError("This is not valid JSON, so not a sweep.") from problem
        if not isinstance(data, dict) or any(data.get(key) != KIND[key] for key in KIND):
            raise SweepError("This is not a sweep of version 1.")
        rest = {key: value for key, value in data.items() if key not in KIND}
        try:
            made: Self = from_plain(cls, rest)
        except (TypeError, ValueError, ArithmeticError) as problem:
            raise SweepError(f"This sweep cannot be used: {problem}.".replace("..", ".")) from None
        return made

    @classmethod
    def shipped(cls) -> Self:
        """Read the shipped sweep of the target House. Raises BrokenFile if the file is damaged."""
        return read_shipped_text(SHIPPED_FILE, cls.from_text)


def _check_times(name: str, values: Sequence[float]) -> None:
    if not values:
        raise ValueError(f"{name} need a measurement.")
    for value in values:
        check_positive(f"Every measurement of {name.lower()}", value)


def middle_half(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the first and third quartile of measurements."""
    if len(seconds) == 1:
        return seconds[0], seconds[0]
    low, _, high = quantiles(seconds, n=4, method="inclusive")
    return low, high
