"""Times the methods in turns and makes rows of it.

Rule: every method meets every prompt once per repeat, in an order that rotates, and a ratio is the
median of ratios within one turn, so that a machine that slows down slows all alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch

from specviz.bench.methods import Method, Outcome, Prompt
from specviz.devices import describe, synchronize
from specviz.settings import Settings
from specviz.target import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One method in one domain. Speeds are medians over `runs` calls, prefill included.

    ratio_to_plain, ratio_to_transformers: of tokens per second; None where there is no
    counterpart. tokens_per_pass: new tokens by target passes. draft_cost: seconds of one drafted
    token by those of one plain target pass; None where it cannot be known.
    """

    name: str
    domain: str
    device: str
    dtype: str
    threads: int
    temperature: float
    gamma: int
    runs: int
    tokens_per_second: float
    ratio_to_plain: float
    ratio_to_transformers: float | None
    tokens_per_pass: float
    draft_cost: float | None


@dataclass(frozen=True, slots=True)
class Timed:
    """One call: what it made, and the seconds it took."""

    outcome: Outcome
    seconds: float

    @property
    def speed(self) -> float:
        """New tokens per second."""
        return self.outcome.tokens / self.seconds


Turns = Mapping[str, Sequence[Timed]]  # by method, its calls, those of one turn at one place


def measure(
    target: Target,
    methods: Sequence[Method],
    domains: Mapping[str, Sequence[Prompt]],
    settings: Settings,
    repeats: int,
) -> Iterator[Row]:
    """Rows, as soon as a domain is done. The first call of each method only warms up."""
    for method in methods:
        method.decode(next(iter(domains.values()))[0])
    for domain, prompts in domains.items():
        turns = take_turns(target, methods, list(prompts) * repeats)
        for method in methods:
            yield _row(method, domain, target, settings, turns)


def take_turns(target: Target, methods: Sequence[Method], prompts: Sequence[Prompt]) -> Turns:
    """Every method on every prompt, the first method of a turn being another each time."""
    turns: dict[str, list[Timed]] = {method.name: [] for method in methods}
    for turn, prompt in enumerate(prompts):
        first = turn % len(methods)
        for method in [*methods[first:], *methods[:first]]:
            turns[method.name].append(_timed(target, method, prompt))
    return turns


def _timed(target: Target, method: Method, prompt: Prompt) -> Timed:
    synchronize(target.device)
    start = perf_counter()
    outcome = method.decode(prompt)
    synchronize(target.device)
    return Timed(outcome, perf_counter() - start)


def _row(method: Method, domain: str, target: Target, settings: Settings, turns: Turns) -> Row:
    mine = turns[method.name]
    outcomes = [timed.outcome for timed in mine]
    other = method.counterpart or ""
    return Row(
        name=method.name,
        domain=domain,
        device=describe(target.device),
        dtype=str(target.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        temperature=settings.sampling.temperature,
        gamma=settings.gamma,
        runs=len(mine),
        tokens_per_second=median(timed.speed for timed in mine),
        ratio_to_plain=_ratio(mine, turns["plain"]),
        ratio_to_transformers=_ratio(mine, turns[other]) if other in turns else None,
        tokens_per_pass=sum(o.tokens for o in outcomes) / sum(o.passes for o in outcomes),
        draft_cost=_draft_cost(outcomes, [timed.outcome for timed in turns["plain"]]),
    )


def _ratio(mine: Sequence[Timed], theirs: Sequence[Timed]) -> float:
    """The median over turns of my speed by theirs."""
    return median(a.speed / b.speed for a, b in zip(mine, theirs, strict=True))


def _draft_cost(mine: Sequence[Outcome], plain: Sequence[Outcome]) -> float | None:
    """One drafted token by one plain pass."""
    drafted = [o.draft_seconds for o in mine if o.draft_seconds is not None]
    passes = [o.pass_seconds for o in plain if o.pass_seconds is not None]
    return median(drafted) / median(passes) if drafted and passes else None
