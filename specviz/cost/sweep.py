"""A sweep: how long a target pass took by the tokens in it, beside its machine's roofline.

Rule: what is kept is measured; whatever follows from it is derived here, and only `predicted` is
simulated. The peaks are as seen on that machine in the same minute, never a data sheet's. Measuring
itself is in specviz/bench/sweep.py. Standard library only.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, Self

from specviz.cost.checks import check_not_negative, check_positive
from specviz.cost.model_shape import ModelShape, bytes_per_number
from specviz.cost.roofline import Hardware, PassTime, Serving, pass_time
from specviz.shipped import ASSETS, of_text
from specviz.trace.codec import from_plain, to_plain

# 1 is plain decoding; 5 and 17 are the usual chain of 4 guesses and a tree of 16, with their root.
SIZES: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 24, 32, 48, 64)
CONTEXT: Final = 128
KIND: Final = {"format": "specviz-sweep", "version": 1}
SHIPPED_FILE: Final = ASSETS / "cost" / "sweep.json"
DTYPES: Final = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


class SweepError(ValueError):
    """A file that holds no sweep; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class PassSamples:
    """Passes over `tokens` new tokens. seconds: of each, in the order measured."""

    tokens: int
    seconds: list[float]

    def __post_init__(self) -> None:
        check_positive("The number of tokens in a pass", self.tokens)
        _check_times(f"Passes over {self.tokens} tokens", self.seconds)

    @property
    def median(self) -> float:
        """Seconds of such a pass: the median."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Sweep:
    """What was measured.

    target: the model's name; shape: its own. machine, processor: in words. dtype: torch's word.
    context: tokens in the cache before each pass. points: rising by tokens, only sizes that were
    measured. flops: operations a second of large matrix products, one number a product; bandwidth:
    bytes a second of reading as many bytes as the weights have. rounds: how many passes of each
    size were meant.
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
            raise ValueError(f"No dtype is called {self.dtype!r} here.")
        check_not_negative("The context", self.context)
        check_positive("The number of rounds", self.rounds)
        if any(a.tokens >= b.tokens for a, b in pairwise(self.points)):
            raise ValueError("The points of a sweep must rise by tokens.")
        for name, values in (("Products", self.flops), ("Reads", self.bandwidth)):
            if values:
                _check_times(name, values)

    @cached_property
    def by_tokens(self) -> dict[int, float]:
        """Median seconds of a pass, by tokens."""
        return {point.tokens: point.median for point in self.points}

    @property
    def complete(self) -> bool:
        """Whether every size was measured as often as was meant."""
        seen = {point.tokens: len(point.seconds) for point in self.points}
        return all(seen.get(size, 0) >= self.rounds for size in SIZES)

    @property
    def plain(self) -> float | None:
        """Seconds of a plain pass, the one over a single token; None where none was measured."""
        return self.by_tokens.get(1)

    def passes(self, tokens: int) -> float | None:
        """A pass over so many tokens, in plain passes; None where one of them was not measured."""
        seconds, plain_pass = self.by_tokens.get(tokens), self.plain
        return seconds / plain_pass if seconds and plain_pass else None

    @property
    def peaks(self) -> tuple[float, float] | None:
        """The best operations and bytes a second that were seen; None before both were."""
        return (max(self.flops), max(self.bandwidth)) if self.flops and self.bandwidth else None

    def predicted(self, tokens: int, overhead: float = 0.0) -> PassTime | None:
        """What the roofline says on the peaks seen, plus `overhead` seconds; None without peaks."""
        if self.peaks is None:
            return None
        dtype, (flops, bandwidth) = DTYPES[self.dtype], self.peaks
        held = self.shape.parameters * bytes_per_number(
            dtype
        )  # it holds the model; the rest does not matter
        here = Hardware(self.machine, {dtype: flops}, bandwidth, float(held))
        serving = Serving(self.shape, here, dtype, self.context, overhead=overhead)
        return pass_time(serving, 1, tokens)

    @property
    def share_of_memory_speed(self) -> float | None:
        """How near a plain pass comes to reading its bytes at the bandwidth seen; None if unknown.

        Its bytes: weights, and the keys and values of the context.
        """
        line, seconds = self.predicted(1), self.plain
        return line.memory / seconds if line and seconds else None

    def excess(self, tokens: int) -> float | None:
        """Seconds that a pass took beyond the roofline: measured less predicted."""
        seconds, line = self.by_tokens.get(tokens), self.predicted(tokens)
        return None if seconds is None or line is None else seconds - line.seconds

    @property
    def overhead(self) -> float | None:
        """What a plain pass took beyond the roofline: a constant, fitted at one token."""
        return self.excess(1)

    def to_text(self) -> str:
        """As the text of a file."""
        return json.dumps(KIND | to_plain(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From the text of a file. Raises SweepError with a sentence, whatever is wrong."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise SweepError("This is not whole JSON, so no sweep.") from problem
        if not isinstance(data, dict) or any(data.get(key) != KIND[key] for key in KIND):
            raise SweepError("This is no sweep: it does not begin as one of version 1 does.")
        rest = {key: value for key, value in data.items() if key not in KIND}
        try:
            made: Self = from_plain(cls, rest)
        except (TypeError, ValueError, ArithmeticError) as problem:
            raise SweepError(f"This sweep cannot be used: {problem}.".replace("..", ".")) from None
        return made

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a file. Raises SweepError with a sentence."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise SweepError(f"The sweep {path.name!r} cannot be read.") from problem
        return cls.from_text(text)

    @classmethod
    def shipped(cls) -> Self:
        """The one that ships: of the house's target. Raises BrokenFile."""
        return of_text(SHIPPED_FILE, cls.from_text)

    def write(self, path: Path) -> None:
        """Into a file."""
        path.write_text(self.to_text(), encoding="utf-8")

    def facts(self) -> dict[str, Any]:
        """Derived numbers by name, for programs: seconds and plain passes by tokens, the gap."""
        rows = [
            {
                "tokens": point.tokens,
                "seconds": point.median,
                "plain_passes": self.passes(point.tokens),
                "roofline_seconds": (line := self.predicted(point.tokens)) and line.seconds,
            }
            for point in self.points
        ]
        return {"overhead_seconds": self.overhead, "rows": rows}


def _check_times(name: str, values: Sequence[float]) -> None:
    """Refuses measurements that no clock gives."""
    if not values:
        raise ValueError(f"{name} need a measurement.")
    for value in values:
        check_positive(f"Every measurement of {name.lower()}", value)


def middle_half(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the first and third quartile of some measurements."""
    if len(seconds) == 1:
        return seconds[0], seconds[0]
    low, _, high = quantiles(seconds, n=4, method="inclusive")
    return low, high
