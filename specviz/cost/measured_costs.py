"""Costs of a public model's shape on one machine, as they were measured with random weights.

Rule: random weights take as long as trained ones, but what they say means nothing; so such a file
holds seconds and bytes, and no acceptance and no speed-up. What follows from an acceptance that
somebody chooses is simulated, and derived here. Measuring is in specviz/bench/shapes. Standard
library only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

from specviz.cost import formula
from specviz.cost.checks import check_not_negative, check_positive
from specviz.cost.model_shape import ModelShape
from specviz.cost.sweep import DTYPES, PassSamples, Sweep
from specviz.shipped import ASSETS, of_text
from specviz.trace.codec import from_plain, to_plain

KIND: Final = {"format": "specviz-shapes", "version": 1}
FOLDER: Final = ASSETS / "cost" / "measured"  # the files that ship
MAX_CHARACTERS: Final = 1 << 18  # characters of a file
MAX_NAME: Final = 200  # characters of a name
MAX_ENTRIES: Final = 64  # entries of a list


class CostFileError(ValueError):
    """A file that holds no measured costs; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class DrafterFacts:
    """What drafted. levels: how deep its drafts go; guesses: how many are in one.

    about: its size and its draft in words. parameters, bytes: of its own weights.
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
            _check_text("A drafter's words", words)
        for number in (self.parameters, self.bytes):
            check_not_negative(f"Every size of {self.name}", number)
        if not 1 <= self.levels <= self.guesses:
            raise ValueError(f"{self.name} cannot draft {self.guesses} guesses in {self.levels}.")


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Seconds of a drafter's rounds, each in three parts, in the order measured.

    draft: until the guesses are there. check: the target's pass over them. rest: laws, verdicts,
    and keeping what was kept.
    """

    drafter: str
    draft: list[float]
    check: list[float]
    rest: list[float]

    def __post_init__(self) -> None:
        parts = (self.draft, self.check, self.rest)
        for part in parts:
            _check_times(f"Rounds of {self.drafter}", part)
        if len({len(part) for part in parts}) > 1:
            raise ValueError(f"Every round of {self.drafter} has three parts.")

    @property
    def total(self) -> list[float]:
        """Seconds of each round."""
        return [sum(parts) for parts in zip(self.draft, self.check, self.rest, strict=True)]


@dataclass(frozen=True, slots=True)
class ContextCosts:
    """What was measured behind a text of `context` tokens.

    plain: seconds of plain decoding's tokens, law and drawing included. passes: bare target passes,
    rising by tokens. cache_bytes: the target's cache; peak_bytes: the most that was taken on the
    device, where that is known.
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
            raise ValueError("The passes must rise by tokens.")


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """One model's shape. flops, bandwidth: what the machine reached, as in a `Sweep`.

    bytes: of its weights in memory, packed copies included. packing: see models/products.py.
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
            _check_text("A model's words", words)
        check_positive("The bytes of the weights", self.bytes)
        _check_count("drafters", self.drafters)
        _check_count("contexts", self.places)
        known = {one.name for one in self.drafters}
        if len(known) < len(self.drafters):
            raise ValueError(f"{self.title} has a drafter twice.")
        if any(a.context >= b.context for a, b in pairwise(self.places)):
            raise ValueError("The contexts must rise.")
        for place in self.places:
            seen = [one.drafter for one in place.rounds]
            if not set(seen) <= known or len(set(seen)) < len(seen):
                raise ValueError(f"The rounds of {self.title} are not each of one drafter.")


@dataclass(frozen=True)
class CostFile:
    """What one command measured on one machine.

    date: of the measurement, as 2026-11-22. command: what was run. machine, processor, dtype,
    threads, versions: as in a `Sweep`. device: by torch's name. load: how many processes wanted a
    core before it began, on average over a minute; None where the system does not say. rounds: how
    often everything was to be measured.
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
            raise ValueError(f"{self.date!r:.40} is no date") from None
        said = (self.command, self.machine, self.processor, self.device)
        for words in (*said, *self.versions, *self.versions.values()):
            _check_text("The machine's words", words)
        if self.dtype not in DTYPES:
            raise ValueError(f"No dtype is called {self.dtype!r:.40} here.")
        check_positive("The number of threads", self.threads)
        check_positive("The number of rounds", self.rounds)
        check_not_negative("The load", self.load or 0.0)
        _check_count("models", self.models)
        if not self.models:
            raise ValueError("nothing was measured")

    def sweep(self, costs: ModelCosts, place: ContextCosts) -> Sweep:
        """A model's bare passes behind one context, beside the roofline of the same machine."""
        return Sweep(
            target=costs.title,
            shape=costs.shape,
            machine=self.machine,
            processor=self.processor,
            dtype=self.dtype,
            threads=self.threads,
            versions=self.versions,
            context=place.context,
            seed=self.seed,
            rounds=self.rounds,
            flops=costs.flops,
            bandwidth=costs.bandwidth,
            points=place.passes,
        )

    @property
    def complete(self) -> bool:
        """Whether everything was measured as often as was meant."""
        return all(
            len(times) >= self.rounds
            for costs in self.models
            for place in costs.places
            for times in (
                place.plain,
                *(point.seconds for point in place.passes),
                *(one.draft for one in place.rounds),
            )
        )

    def to_text(self) -> str:
        """As the text of a file."""
        return json.dumps(KIND | to_plain(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From the text of a file, anybody's. Raises ShapeFileError with a sentence."""
        if len(text) > MAX_CHARACTERS:
            raise CostFileError(f"Measured costs are a file of {MAX_CHARACTERS >> 10} KiB at most.")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise CostFileError("This is not whole JSON, so no measured costs.") from problem
        if not isinstance(data, dict) or any(data.get(key) != KIND[key] for key in KIND):
            raise CostFileError("These are no measured costs: they do not begin as version 1.")
        rest = {key: value for key, value in data.items() if key not in KIND}
        try:
            made: Self = from_plain(cls, rest)
        except (TypeError, ValueError, ArithmeticError) as problem:
            said = str(problem).rstrip(".")
            raise CostFileError(f"These measured costs cannot be used: {said}.") from None
        return made


@dataclass(frozen=True, slots=True)
class RoundCost:
    """A drafter's round behind one context, in plain passes: medians.

    draft: drafting it; level: one level of it, the law's c. check: the target's pass over it. rest:
    as in `Round`. levels: how deep it goes.
    """

    draft: float
    check: float
    rest: float
    levels: int

    @property
    def total(self) -> float:
        """The round."""
        return self.draft + self.check + self.rest

    @property
    def level(self) -> float:
        """The law's c."""
        return self.draft / self.levels

    def speedup(self, alpha: float) -> float:
        """What the speed law says at this acceptance: simulated. Of a tree, α is the chance that
        one of the siblings is kept.
        """
        tokens = formula.expected_tokens(alpha, self.levels)
        return formula.speedup_from_tokens(tokens, self.draft, self.check + self.rest)

    @property
    def break_even_alpha(self) -> float | None:
        """The α from which on it is no slower than plain decoding: simulated; None: not even 1."""
        if self.total > self.levels + 1:
            return None
        return formula.solve_alpha(self.total, self.levels) if self.total > 1.0 else 0.0


def round_cost(costs: ModelCosts, place: ContextCosts, round: RoundTimes) -> RoundCost:
    """What a drafter's round costs there."""
    baseline = median(place.plain)
    drafter = next(one for one in costs.drafters if one.name == round.drafter)
    draft, check, rest = (
        median(part) / baseline for part in (round.draft, round.check, round.rest)
    )
    return RoundCost(draft, check, rest, drafter.levels)


def shipped_paths(folder: Path = FOLDER) -> list[Path]:
    """The files that ship, whole or not."""
    return sorted(folder.glob("*.json"))


@cache
def load_shipped(path: Path) -> CostFile:
    """One of the files that ship. Raises BrokenFile."""
    return of_text(path, CostFile.from_text)


def _check_text(what: str, words: str) -> None:
    """Refuses a text that is no name."""
    if len(words) > MAX_NAME or not words.isprintable():
        raise ValueError(f"{what} are {MAX_NAME} printable characters at most.")


def _check_count(what: str, values: Sequence[Any]) -> None:
    """Refuses a list that nobody has measured."""
    if len(values) > MAX_ENTRIES:
        raise ValueError(f"{len(values):,} {what} are too many.")


def _check_times(name: str, values: Sequence[float]) -> None:
    """Refuses measurements that no clock gives."""
    if not 0 < len(values) <= 1000:
        raise ValueError(f"{name} need 1 to 1,000 measurements")
    for value in values:
        check_not_negative(f"Every measurement of {name.lower()}", value)
