"""Measure shapes one after the other, each with texts of several lengths, and build the file.

Everything takes turns in an order that is shuffled each round, and the first turn of each only
warms up. If a measurement is stopped, its finished parts are kept.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import torch

from specviz.bench.shapes.lineup import Lineup, build_lineup
from specviz.bench.shapes.rounds import SIZES, ShapeRounds
from specviz.bench.sweep import PRODUCT, READ
from specviz.cost.measured_costs import ContextCosts, CostFile, DrafterFacts, ModelCosts
from specviz.cost.sources import Model
from specviz.engine.loop import Stop, never
from specviz.engine.recorder import versions
from specviz.models.devices import cpu_name, describe_device
from specviz.models.fast_linear import describe_products
from specviz.models.memory import unique_bytes


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """How much is measured.

    Attributes:
        contexts: Lengths of the texts.
        rounds: The number of rounds.
        seed: Seed of the order.
        sizes: Sizes of bare passes.
    """

    contexts: tuple[int, ...]
    rounds: int
    seed: int = 1
    sizes: tuple[int, ...] = SIZES

    @property
    def longest(self) -> int:
        """The number of tokens that a target must support."""
        return max(self.contexts) + max(self.sizes) + self.rounds + 2

    def turns(self, drafters: int) -> int:
        """Return the number of measurements of one shape, those to warm up included."""
        return len(self.contexts) * (self.rounds + 1) * (len(self.sizes) + 3 + drafters)


def _load() -> float | None:
    """Return the load average of the last minute, in processes; None if unknown."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


@dataclass
class ShapeMeasurement:
    """A file in progress; `file` returns what has been measured so far.

    Attributes:
        device: The device.
        dtype: The networks' number format.
        plan: How much is measured.
        command: The command that repeats the measurement.
        models: The shapes measured.
        load: See `CostFile`.
    """

    device: torch.device
    dtype: torch.dtype
    plan: ShapePlan
    command: str
    models: list[ModelCosts] = field(default_factory=list)
    load: float | None = field(default_factory=_load)

    def steps(self, row: Model, stop: Stop = never) -> Iterator[None]:
        """Measure a shape, one measurement per step; measurements are kept however it ends."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        found: list[ContextCosts] = []
        lineup = build_lineup(row, self.device, self.dtype, self.plan.longest)
        rates: dict[str, list[float]] = {PRODUCT: [], READ: []}
        drafters: dict[str, DrafterFacts] = {}
        try:
            for context in self.plan.contexts:
                rounds = ShapeRounds(lineup, context, self.plan.sizes)
                try:
                    yield from self._turns(rounds, stop)
                finally:
                    if costs := rounds.costs():
                        found.append(costs)
                        drafters |= _drafters(rounds)
                    for name, seen in rounds.peaks.items():
                        rates[name] += seen
                if stop():
                    return
        finally:
            if found:
                self.models.append(_costs(lineup, rates, drafters, found))
            del lineup
            gc.collect()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def _turns(self, rounds: ShapeRounds, stop: Stop) -> Iterator[None]:
        for number in range(self.plan.rounds + 1):
            for turn in rounds.order(self.plan.seed, number):
                if stop():
                    return
                rounds.take(turn, keep=number > 0)
                yield
            rounds.grow()

    def file(self) -> CostFile:
        """Return the costs measured so far. Raises ValueError if there are none."""
        return CostFile(
            date=datetime.now(UTC).date().isoformat(),
            command=self.command,
            machine=describe_device(self.device),
            processor=cpu_name(),
            device=str(self.device),
            dtype=str(self.dtype).removeprefix("torch."),
            threads=torch.get_num_threads(),
            versions=dict(versions()),
            seed=self.plan.seed,
            rounds=self.plan.rounds,
            models=list(self.models),
            load=self.load,
        )


def _costs(
    lineup: Lineup,
    rates: Mapping[str, list[float]],
    drafters: Mapping[str, DrafterFacts],
    contexts: Sequence[ContextCosts],
) -> ModelCosts:
    target, row = lineup.target, lineup.row
    return ModelCosts(
        row.name,
        row.title,
        row.shape,
        unique_bytes([target.model], excluding=[]),
        describe_products(target.model),
        rates[PRODUCT],
        rates[READ],
        list(drafters.values()),
        list(contexts),
    )


def _drafters(rounds: ShapeRounds) -> dict[str, DrafterFacts]:
    """Return the drafters by name, with the size of the last draft."""
    found = {}
    for name, each in rounds.drafting.items():
        if each.seen["draft"] and each.guesses:
            member = each.member
            card, levels = member.drafter.card, min(member.settings.gamma, each.guesses)
            about = f"{people(card.parameters)}, {each.guesses} guesses in {levels} levels"
            found[name] = DrafterFacts(
                name, member.title, about, card.parameters, card.bytes, each.guesses, levels
            )
    return found


def people(parameters: int) -> str:
    """Return a number of weights in words."""
    return f"{parameters / 1e6:,.3g} M weights" if parameters else "no weights"
