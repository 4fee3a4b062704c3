"""Drafter × domain over the shipped prompts: what to measure, in which order, and what a cell says.

Rule: every drafter runs beside plain decoding of the same prompt, and the turns are shuffled by a
seed, so that a machine that slows down slows no drafter more than another. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.catalog.entry import entries, with_defaults
from specviz.settings.chance import random_u
from specviz.settings.settings import Settings, require
from specviz.shipped import MEASURED, of_shipped, prompts
from specviz.texts import count

SEED: Final = 1  # of every run's coins, as in the recorded measurement
FEWEST_TOKENS: Final = 8
MOST_TOKENS: Final = 64
HOTTEST: Final = 2.0


def choices() -> list[tuple[str, str]]:
    """Drafters that can be measured, (title, name): the catalogue's for the house target."""
    fitting = ("house", None)
    return [(e.title, e.name) for e in entries() if e.kind == "drafter" and e.made_for in fitting]


@dataclass(frozen=True, slots=True)
class Turn:
    """One drafter on one prompt (from 0) of a domain, beside plain decoding of the same."""

    drafter: str
    domain: str
    prompt: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. prompts: a domain. order_seed: shuffles the turns. Raises BadSettings."""

    drafters: tuple[str, ...]
    prompts: int = 1
    new_tokens: int = 24
    temperature: float = 0.0
    order_seed: int = 1

    def __post_init__(self) -> None:
        known = [name for _, name in choices()]
        require(len(self.drafters) > 0, "Choose at least one drafter.")
        for name in self.drafters:
            require(name in known, f"No drafter for the house target is called {name!r:.80}.")
        once = len(set(self.drafters)) == len(self.drafters)
        require(once, "Each drafter is measured once.")
        few = 1 <= self.prompts <= most_prompts()
        require(few, f"Prompts a domain must lie between 1 and {most_prompts()}.")
        fits = FEWEST_TOKENS <= self.new_tokens <= MOST_TOKENS
        require(fits, f"New tokens must lie between {FEWEST_TOKENS} and {MOST_TOKENS}.")
        warm = 0 <= self.temperature <= HOTTEST
        require(warm, f"Temperature must lie between 0 and {HOTTEST:g}.")
        require(-(2**63) <= self.order_seed < 2**63, "The seed of the order must fit in 64 bits.")

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that have prompts, as they are shown."""
        return tuple(prompts())

    @property
    def order(self) -> tuple[Turn, ...]:
        """Every turn once, as `order_seed` shuffles them: sorted by one coin each."""
        turns = [
            Turn(drafter, domain, prompt)
            for drafter in self.drafters
            for domain in self.domains
            for prompt in range(self.prompts)
        ]
        places = sorted(range(len(turns)), key=lambda i: random_u(self.order_seed, i, "turn", 0))
        return tuple(turns[place] for place in places)

    def drafter_first(self, place: int) -> bool:
        """Whether the drafter runs before plain decoding in the turn at `place` of the order."""
        return random_u(self.order_seed, place, "first", 0) < 0.5

    def settings(self, drafter: str) -> Settings:
        """The drafter's usual settings, as in the recorded measurement."""
        sampling = {"temperature": self.temperature}
        said = {"sampling": sampling, "seed": SEED, "max_new_tokens": self.new_tokens}
        return Settings.from_json(with_defaults(drafter, said))

    @property
    def size(self) -> str:
        """How much work this is, in a sentence."""
        turns = len(self.drafters) * len(self.domains) * self.prompts
        parts = (
            count(len(self.drafters), "drafter"),
            count(len(self.domains), "domain"),
            count(self.prompts, "prompt"),
        )
        return (
            f"{' × '.join(parts)} = {count(turns, 'turn')}. In each the drafter and plain decoding "
            f"run one after the other: {2 * turns} runs of at most {self.new_tokens} tokens, after "
            f"{count(1 + len(self.drafters), 'short run')} to warm up."
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """One drafter in one domain, over `prompts` prompts.

    speedup: tokens per second by plain decoding's beside it, the median over prompts; lowest,
    highest: of them. accepted_length: draft tokens kept a round, the prefill (which drafts nothing)
    counted as one. tokens_per_pass, alpha, guesses_per_round: as `bench.measure` has them. tokens,
    seconds: of the drafted runs. plain_slowest, plain_fastest: plain decoding's tokens a second in
    its slowest and its fastest run. What was not kept of a recorded measurement is None.
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
    """The measurement that ships, at one temperature. where: machine and precision, in words."""

    cells: tuple[Cell, ...]
    drafters: tuple[str, ...]
    domains: tuple[str, ...]
    temperature: float
    prompts: int
    new_tokens: int
    where: str


def most_prompts() -> int:
    """A domain: all that ship."""
    return min(map(len, prompts().values()))


def recorded(path: Path = MEASURED) -> list[Recorded]:
    """One for each temperature that was measured; none where there is no such file.

    Raises BrokenFile where the file is no measurement.
    """
    return of_shipped(path, _by_temperature) if path.is_file() else []


def _by_temperature(facts: Any) -> list[Recorded]:
    temperatures = sorted({row["temperature"] for row in facts["rows"]})
    return [_at(facts, temperature) for temperature in temperatures]


def _at(facts: Mapping[str, Any], temperature: float) -> Recorded:
    rows = [row for row in facts["rows"] if row["temperature"] == temperature]
    machine = facts["machine"]
    return Recorded(
        cells=tuple(_cell(row, facts["prompts"]) for row in rows),
        drafters=tuple(facts["drafters"]),
        domains=tuple(dict.fromkeys(row["domain"] for row in rows)),
        temperature=temperature,
        prompts=facts["prompts"],
        new_tokens=facts["new_tokens"],
        where=f"{machine['device']} ({machine['processor']}) · {facts['dtype']}",
    )


def _cell(row: Mapping[str, Any], many: int) -> Cell:
    return Cell(
        drafter=row["name"],
        domain=row["domain"],
        prompts=many,
        speedup=row["ratio_to_plain"],
        accepted_length=row["accepted_length"],
        tokens_per_pass=row["tokens_per_pass"],
        alpha=row["alpha"],
        guesses_per_round=row["guesses_per_round"],
        tokens_per_second=row["tokens_per_second"],
    )
