"""Compare drafters on the shipped prompts by domain: plan a measurement, or read the shipped one.

In each turn, a drafter and plain decoding run one after the other on the same prompt. Turns are
shuffled by a seed, so that other work on the machine affects all drafters alike. Standard library
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.catalog.entry import entries, with_defaults
from specviz.settings.chance import random_u
from specviz.settings.settings import Settings, require
from specviz.settings.suggestion import did_you_mean
from specviz.shipped import MEASURED, prompts, read_shipped_json
from specviz.texts import text

SEED: Final = 1  # seed of every run, as in the shipped measurement
MIN_TOKENS: Final = 8
MAX_TOKENS: Final = 64
MAX_TEMPERATURE: Final = 2.0


def choices() -> list[tuple[str, str]]:
    """Return the catalogue's drafters that fit the shipped target (House), as (title, name)."""
    fitting = ("house", None)
    return [(e.title, e.name) for e in entries() if e.kind == "drafter" and e.made_for in fitting]


@dataclass(frozen=True, slots=True)
class Turn:
    """One drafter and plain decoding on one prompt of a domain; prompts are counted from 0."""

    drafter: str
    domain: str
    prompt: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: which drafters to measure, on how many prompts per domain.

    Raises BadSettings if a value is invalid.

    Attributes:
        prompts: Prompts per domain.
        new_tokens: New tokens per run.
        order_seed: Seed of the order of the turns.
    """

    drafters: tuple[str, ...]
    prompts: int = 1
    new_tokens: int = 24
    temperature: float = 0.0
    order_seed: int = 1

    def __post_init__(self) -> None:
        known = [name for _, name in choices()]
        require(len(self.drafters) > 0, "Choose at least one drafter.")
        for name in self.drafters:
            sentence = f"House has no drafter called {name!r:.80}."
            require(name in known, sentence + did_you_mean(name, known))
        unique = len(set(self.drafters)) == len(self.drafters)
        require(unique, "Choose each drafter only once.")
        enough = 1 <= self.prompts <= max_prompts()
        require(enough, f"Prompts per domain must lie between 1 and {max_prompts()}.")
        fits = MIN_TOKENS <= self.new_tokens <= MAX_TOKENS
        require(fits, f"New tokens must lie between {MIN_TOKENS} and {MAX_TOKENS}.")
        valid = 0 <= self.temperature <= MAX_TEMPERATURE
        require(valid, f"Temperature must lie between 0 and {MAX_TEMPERATURE:g}.")
        require(-(2**63) <= self.order_seed < 2**63, "The order seed must fit in 64 bits.")

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that have prompts, in the order shown."""
        return tuple(prompts())

    @property
    def order(self) -> tuple[Turn, ...]:
        """Every turn once, shuffled with `order_seed`."""
        turns = [
            Turn(drafter, domain, prompt)
            for drafter in self.drafters
            for domain in self.domains
            for prompt in range(self.prompts)
        ]
        order = sorted(range(len(turns)), key=lambda i: random_u(self.order_seed, i, "turn", 0))
        return tuple(turns[index] for index in order)

    def drafter_first(self, number: int) -> bool:
        """Return whether the drafter runs before plain decoding in turn `number`, from 1."""
        return random_u(self.order_seed, number, "first", 0) < 0.5

    def settings(self, drafter: str) -> Settings:
        """Return the drafter's default settings, as in the recorded measurement."""
        sampling = {"temperature": self.temperature}
        given = {"sampling": sampling, "seed": SEED, "max_new_tokens": self.new_tokens}
        return Settings.from_json(with_defaults(drafter, given))

    @property
    def size(self) -> str:
        """Return the amount of work as a sentence."""
        turns = len(self.drafters) * len(self.domains) * self.prompts
        return text(
            "compare",
            "map_size",
            drafters=len(self.drafters),
            domains=len(self.domains),
            prompts=self.prompts,
            turns=turns,
            runs=2 * turns,
            tokens=self.new_tokens,
            warm_ups=1 + len(self.drafters),
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """One drafter in one domain. Values that a recorded measurement does not contain are None.

    Attributes:
        speedup: Tokens per second divided by plain decoding's; the median over prompts.
        accepted_length: Accepted draft tokens per round. The prefill, which drafts nothing,
            counts as a round.
        tokens_per_pass: As in `bench.measure`.
        alpha: As in `bench.measure`.
        guesses_per_round: As in `bench.measure`.
        tokens_per_second: Tokens per second of the drafter; the median over prompts.
        tokens: New tokens in all runs of the drafter.
        seconds: Seconds of all runs of the drafter.
        plain_slowest: Plain decoding's tokens per second in its slowest run.
        plain_fastest: Plain decoding's tokens per second in its fastest run.
    """

    drafter: str
    domain: str
    prompts: int
    speedup: float
    accepted_length: float
    tokens_per_pass: float
    alpha: float | None
    guesses_per_round: float | None
    tokens_per_second: float
    lowest: float | None = None
    highest: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    plain_slowest: float | None = None
    plain_fastest: float | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The shipped measurement at one temperature."""

    cells: tuple[Cell, ...]
    drafters: tuple[str, ...]
    domains: tuple[str, ...]
    temperature: float
    prompts: int
    new_tokens: int
    machine: str
    where: str


def max_prompts() -> int:
    """Return the number of prompts that every domain has."""
    return min(map(len, prompts().values()))


def recorded(path: Path = MEASURED) -> list[Recorded]:
    """Read the shipped measurement by temperature; empty if missing.

    Raises BrokenFile if the file is damaged.
    """
    return read_shipped_json(path, _by_temperature) if path.is_file() else []


def _by_temperature(facts: Any) -> list[Recorded]:
    temperatures = sorted({row["temperature"] for row in facts["rows"]})
    return [_at(facts, temperature) for temperature in temperatures]


def _at(facts: Mapping[str, Any], temperature: float) -> Recorded:
    rows = [row for row in facts["rows"] if row["temperature"] == temperature]
    machine = f"{facts['machine']['device']} ({facts['machine']['processor']})"
    return Recorded(
        cells=tuple(_cell(row, facts["prompts"]) for row in rows),
        drafters=tuple(facts["drafters"]),
        domains=tuple(dict.fromkeys(row["domain"] for row in rows)),
        temperature=temperature,
        prompts=facts["prompts"],
        new_tokens=facts["new_tokens"],
        machine=machine,
        where=f"{machine} · {facts['dtype']}",
    )


def _cell(row: Mapping[str, Any], prompts: int) -> Cell:
    return Cell(
        drafter=row["name"],
        domain=row["domain"],
        prompts=prompts,
        speedup=row["ratio_to_plain"],
        accepted_length=row["accepted_length"],
        tokens_per_pass=row["tokens_per_pass"],
        alpha=row["alpha"],
        guesses_per_round=row["guesses_per_round"],
        tokens_per_second=row["tokens_per_second"],
    )
