"""Measures shapes one after the other, each behind texts of several lengths, and makes the file.

Rule: as everywhere here, all take turns, in an order that is shuffled anew; the first turn of each
only warms up. Stopped at any time, it has what it measured.
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
    """How much is measured: texts of which lengths, sizes of bare passes, how many rounds."""

    contexts: tuple[int, ...]
    rounds: int
    seed: int = 1
    sizes: tuple[int, ...] = SIZES

    @property
    def longest(self) -> int:
        """Tokens that a target must see."""
        return max(self.contexts) + max(self.sizes) + self.rounds + 2

    def turns(self, drafters: int) -> int:
        """Measurements of one shape, those that warm up among them."""
        return len(self.contexts) * (self.rounds + 1) * (len(self.sizes) + 3 + drafters)


def _load() -> float | None:
    """How many processes want a core, on average over the last minute; None: it is not said."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


@dataclass
class ShapeMeasurement:
    """A file in the making. command: what was typed. Asked at any time, `file` says what there is.

    load: see `ShapeFile`.
    """

    device: torch.device
    dtype: torch.dtype
    plan: ShapePlan
    command: str
    models: list[ModelCosts] = field(default_factory=list)
    load: float | None = field(default_factory=_load)

    def steps(self, row: Model, stop: Stop = never) -> Iterator[None]:
        """Measure a shape, a step a measurement. What came stays, whatever ends it."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        found: list[ContextCosts] = []
        everybody = build_lineup(row, self.device, self.dtype, self.plan.longest)
        rates: dict[str, list[float]] = {PRODUCT: [], READ: []}
        drafters: dict[str, DrafterFacts] = {}
        try:
            for context in self.plan.contexts:
                rounds = ShapeRounds(everybody, context, self.plan.sizes)
                try:
                    yield from self._turns(rounds, stop)
                finally:
                    if place := rounds.place():
                        found.append(place)
                        drafters |= _drafters(rounds)
                    for name, seen in rounds.peaks.items():
                        rates[name] += seen
                if stop():
                    return
        finally:
            if found:
                self.models.append(_costs(everybody, rates, drafters, found))
            del everybody
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
        """As far as it came. Raises ValueError where nothing was measured."""
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
    everybody: Lineup,
    rates: Mapping[str, list[float]],
    drafters: Mapping[str, DrafterFacts],
    places: Sequence[ContextCosts],
) -> ModelCosts:
    target, row = everybody.target, everybody.row
    return ModelCosts(
        row.name,
        row.title,
        row.shape,
        unique_bytes([target.model], beyond=[]),
        describe_products(target.model),
        rates[PRODUCT],
        rates[READ],
        list(drafters.values()),
        list(places),
    )


def _drafters(rounds: ShapeRounds) -> dict[str, DrafterFacts]:
    """Who drafted, by name, with the size of the last draft."""
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
    """A number of weights in words."""
    return f"{parameters / 1e6:,.3g} M weights" if parameters else "no weights"
