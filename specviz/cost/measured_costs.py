"""Measured costs of a public model's shape on one machine, with random weights.

Random weights take as long as trained ones but produce meaningless text, so a file has seconds and
bytes, but no acceptance and no speed-up. The visitor chooses an α, and the speed-up is then
simulated. The measurement is in specviz/bench/shapes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

from specviz.cost import formula
from specviz.cost.formula import check_not_negative, check_positive
from specviz.cost.roofline import ModelShape
from specviz.cost.sweep import DTYPES, PassSamples, Sweep
from specviz.shipped import ASSETS, read_shipped_text
from specviz.trace.codec import from_plain, to_plain

KIND: Final = {"format": "specviz-shapes", "version": 1}
FOLDER: Final = ASSETS / "cost" / "measured"  # folder of the files that ship with specviz
MAX_CHARACTERS: Final = 1 << 18  # maximum characters of a file
MAX_NAME: Final = 200  # maximum characters of a name
MAX_ENTRIES: Final = 64  # maximum entries of a list


class CostFileError(ValueError):
    """Raised if a file does not contain valid measured costs; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class DrafterFacts:
    """A drafter that was measured.

    Attributes:
        guesses: Draft tokens per draft.
        bytes: Size of its own weights.
    """

    name: str
    title: str
    about: str
    parameters: int
    bytes: int
    guesses: int
    levels: int

    def __post_init__(self) -> None:
        for words in (self.name, self.title, self.about):
            _check_text("A drafter's text", words)
        for number in (self.parameters, self.bytes):
            check_not_negative(f"Every size of {self.name}", number)
        if not 1 <= self.levels <= self.guesses:
            raise ValueError(
                f"{self.name} cannot draft {self.guesses} tokens in {self.levels} levels."
            )


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Seconds of a drafter's rounds, in order; rest: distributions, judging and committing."""

    drafter: str
    draft: list[float]
    check: list[float]
    rest: list[float]

    def __post_init__(self) -> None:
        parts = (self.draft, self.check, self.rest)
        for part in parts:
            _check_times(f"Rounds of {self.drafter}", part)
        if len({len(part) for part in parts}) > 1:
            raise ValueError(f"Every round of {self.drafter} needs three times.")

    @property
    def total(self) -> list[float]:
        """Seconds of each whole round."""
        return [sum(parts) for parts in zip(self.draft, self.check, self.rest, strict=True)]


@dataclass(frozen=True, slots=True)
class ContextCosts:
    """Costs at one context length.

    Attributes:
        context: Tokens in the cache.
        cache_bytes: Size of the target's cache.
        plain: Seconds per token of plain decoding, including the distribution and sampling.
        rounds: Rounds of each drafter.
        peak_bytes: Peak memory on the device, if known.
    """

    context: int
    cache_bytes: int
    plain: list[float]
    passes: list[PassSamples]
    rounds: list[RoundTimes]
    peak_bytes: int | None = None

    def __post_init__(self) -> None:
        check_positive("The context", self.context)
        _check_times("Plain passes", self.plain)
        _check_count("sizes of a pass", self.passes)
        _check_count("drafters", self.rounds)
        for point in self.passes:
            _check_times(f"Passes over {point.tokens} tokens", point.seconds)
        if any(a.tokens >= b.tokens for a, b in pairwise(self.passes)):
            raise ValueError("The passes must be in increasing order of tokens.")


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """Costs of one model's shape.

    Attributes:
        bytes: Size of its weights in memory, including packed copies.
        packing: How weights are packed; see models/products.py.
        flops: Operations per second measured on the machine, as in `Sweep`.
        bandwidth: Bytes per second measured on the machine, as in `Sweep`.
        drafters: The drafters that were measured.
    """

    name: str
    title: str
    shape: ModelShape
    bytes: int
    packing: str
    flops: list[float]
    bandwidth: list[float]
    drafters: list[DrafterFacts]
    places: list[ContextCosts]

    def __post_init__(self) -> None:
        for words in (self.name, self.title, self.packing):
            _check_text("A model's text", words)
        check_positive("The bytes of the weights", self.bytes)
        _check_count("drafters", self.drafters)
        _check_count("contexts", self.places)
        known = {one.name for one in self.drafters}
        if len(known) < len(self.drafters):
            raise ValueError(f"{self.title} has a drafter twice.")
        if any(a.context >= b.context for a, b in pairwise(self.places)):
            raise ValueError("The contexts must be in increasing order.")
        for context_costs in self.places:
            seen = [one.drafter for one in context_costs.rounds]
            if not set(seen) <= known or len(set(seen)) < len(seen):
                raise ValueError(
                    f"The rounds of {self.title} must be of different, known drafters."
                )


@dataclass(frozen=True)
class CostFile:
    """The result of one command on one machine.

    Attributes:
        date: Date of the measurement, as in 2026-11-22.
        machine: As in `Sweep`.
        processor: As in `Sweep`.
        dtype: As in `Sweep`.
        threads: As in `Sweep`.
        versions: As in `Sweep`.
        seed: Seed of the random weights and of the order of measurements.
        rounds: Number of planned measurements of each value.
        load: Load average before the measurement; None if the system does not report it.
    """

    date: str
    command: str
    machine: str
    processor: str
    device: str
    dtype: str
    threads: int
    versions: dict[str, str]
    seed: int
    rounds: int
    models: list[ModelCosts]
    load: float | None = None

    def __post_init__(self) -> None:
        try:
            date.fromisoformat(self.date)
        except ValueError:
            raise ValueError(f"{self.date!r:.40} is not a date") from None
        environment = (self.command, self.machine, self.processor, self.device)
        for words in (*environment, *self.versions, *self.versions.values()):
            _check_text("The description of the machine", words)
        if self.dtype not in DTYPES:
            raise ValueError(f"The dtype {self.dtype!r:.40} is not supported.")
        check_positive("The number of threads", self.threads)
        check_positive("The number of rounds", self.rounds)
        check_not_negative("The load", self.load or 0.0)
        _check_count("models", self.models)
        if not self.models:
            raise ValueError("nothing was measured")

    def sweep(self, costs: ModelCosts, context_costs: ContextCosts) -> Sweep:
        """Return a model's passes at one context length as a sweep, with the machine's peaks."""
        return Sweep(
            target=costs.title,
            shape=costs.shape,
            machine=self.machine,
            processor=self.processor,
            dtype=self.dtype,
            threads=self.threads,
            versions=self.versions,
            context=context_costs.context,
            seed=self.seed,
            rounds=self.rounds,
            flops=costs.flops,
            bandwidth=costs.bandwidth,
            points=context_costs.passes,
        )

    @property
    def complete(self) -> bool:
        """Whether every value was measured as often as planned."""
        return all(
            len(times) >= self.rounds
            for costs in self.models
            for context_costs in costs.places
            for times in (
                context_costs.plain,
                *(point.seconds for point in context_costs.passes),
                *(one.draft for one in context_costs.rounds),
            )
        )

    def to_text(self) -> str:
        """Return the text of a file."""
        return json.dumps(KIND | to_plain(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the text of a file, which may come from anyone.

        Raises CostFileError if the file is not valid.
        """
        if len(text) > MAX_CHARACTERS:
            raise CostFileError(f"A file of measured costs has at most {MAX_CHARACTERS >> 10} KiB.")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise CostFileError(
                "This is not valid JSON, so not a file of measured costs."
            ) from problem
        if not isinstance(data, dict) or any(data.get(key) != KIND[key] for key in KIND):
            raise CostFileError("This is not a file of measured costs, version 1.")
        rest = {key: value for key, value in data.items() if key not in KIND}
        try:
            made: Self = from_plain(cls, rest)
        except (TypeError, ValueError, ArithmeticError) as problem:
            message = str(problem).rstrip(".")
            raise CostFileError(f"These measured costs cannot be used: {message}.") from None
        return made


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Medians of a drafter's round at one context length, in plain passes."""

    draft: float
    check: float
    rest: float
    levels: int

    @property
    def total(self) -> float:
        """Time of the whole round."""
        return self.draft + self.check + self.rest

    @property
    def level(self) -> float:
        """Time to draft one level, which is c in the formula."""
        return self.draft / self.levels

    def speedup(self, alpha: float) -> float:
        """Return the simulated speed-up at α; in a tree, α is that of all siblings together."""
        tokens = formula.expected_tokens(alpha, self.levels)
        return formula.speedup_from_tokens(tokens, self.draft, self.check + self.rest)

    @property
    def break_even_alpha(self) -> float | None:
        """The smallest α at which the drafter is not slower than plain decoding, or None."""
        if self.total > self.levels + 1:
            return None
        return formula.solve_alpha(self.total, self.levels) if self.total > 1.0 else 0.0


def round_costs(
    costs: ModelCosts, context_costs: ContextCosts
) -> Iterator[tuple[DrafterFacts, RoundTimes, RoundCost]]:
    """Yield each drafter with the times and the cost of its rounds at one context length."""
    baseline = median(context_costs.plain)
    for times in context_costs.rounds:
        drafter = next(one for one in costs.drafters if one.name == times.drafter)
        draft, check, rest = (
            median(part) / baseline for part in (times.draft, times.check, times.rest)
        )
        yield drafter, times, RoundCost(draft, check, rest, drafter.levels)


def shipped_paths(folder: Path = FOLDER) -> list[Path]:
    """Return the paths of the shipped files, valid or not."""
    return sorted(folder.glob("*.json"))


@cache
def load_shipped(path: Path) -> CostFile:
    """Read a shipped file. Raises BrokenFile if it is damaged."""
    return read_shipped_text(path, CostFile.from_text)


def _check_text(what: str, words: str) -> None:
    if len(words) > MAX_NAME or not words.isprintable():
        raise ValueError(f"{what} must be at most {MAX_NAME} printable characters.")


def _check_count(what: str, values: Sequence[Any]) -> None:
    if len(values) > MAX_ENTRIES:
        raise ValueError(f"{len(values):,} {what} are too many.")


def _check_times(name: str, values: Sequence[float]) -> None:
    if not 0 < len(values) <= 1000:
        raise ValueError(f"{name} need 1 to 1,000 measurements")
    for value in values:
        check_not_negative(f"Every measurement of {name.lower()}", value)
