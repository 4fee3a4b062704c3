"""Measure times and bytes of models with public shapes and random weights.

All measurements are made in turns, in an order that is shuffled each round; the first turn of each
only warms up. If a measurement is stopped, finished parts are kept.

All drafters share one text and one cache of the target. In a turn, each drafter drafts once; its
guesses are verified and then discarded, because verdicts are meaningless with random weights. Then
one predetermined token is added to the text. So every drafter gets the same text, and no time
depends on acceptance.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from time import perf_counter
from typing import Final

import torch

from specviz.bench.shapes.lineup import Lineup, Member, build_lineup
from specviz.bench.sweep import (
    DIGITS,
    PRODUCT,
    READ,
    Workload,
    matmul_workload,
    read_workload,
    time_seconds,
)
from specviz.cost.measured_costs import ContextCosts, CostFile, DrafterFacts, ModelCosts, RoundTimes
from specviz.cost.sources import Model
from specviz.cost.sweep import PassSamples
from specviz.engine.judging import judge, sample
from specviz.engine.loop import Stop, never
from specviz.engine.protocol import DraftSession, draft_cut
from specviz.engine.recorder import versions
from specviz.models.devices import cpu_name, describe_device, synchronize
from specviz.models.fast_layers import describe_products
from specviz.models.memory import unique_bytes
from specviz.models.passes import CaptureSpec
from specviz.models.target import TargetRun
from specviz.verification import choose_rule
from specviz.verification.tree import DraftTree

SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
GPU_SIZES: Final = (*SIZES, 128, 256, 512, 1024, 2048)  # to where arithmetic limits a pass
PLAIN: Final = "plain"
PHASES: Final = ("draft", "check", "rest")

Turn = int | str  # number of tokens in a pass, or the name of plain decoding, a drafter or a peak


def sizes_for(device: torch.device) -> tuple[int, ...]:
    """Return the numbers of tokens of the passes that are measured on a device."""
    return GPU_SIZES if device.type == "cuda" else SIZES


@dataclass
class DrafterTimes:
    """State and times of a drafter, kept between its turns."""

    member: Member
    session: DraftSession
    seen: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PHASES})
    guesses: int = 0


class ShapeRounds:
    """A text of `context` tokens in the target's cache, and all times measured after it."""

    def __init__(self, cast: Lineup, context: int, sizes: Sequence[int] = SIZES) -> None:
        self.cast = cast
        self.context = context
        self.sizes = sizes
        self.target = cast.target
        self.text = [self._token(at) for at in range(context + 1)]
        self.run: TargetRun = self.target.start(_all_taps(cast.members))
        states = self.run.prefill(self.text[:-1]).states
        self.drafting: dict[str, DrafterTimes] = {}
        for member in cast.members:
            session = member.drafter.begin(self.run, member.settings)
            session.commit(self.text[1:], states)
            self.drafting[member.name] = DrafterTimes(member, session)
        self.plain: list[float] = []
        self.passes: dict[int, list[float]] = {}
        self.peaks: dict[str, list[float]] = {}
        self._busy: Mapping[str, Workload] = {
            PRODUCT: matmul_workload(self.target),
            READ: read_workload(self.target),
        }

    def order(self, seed: int, number: int) -> list[Turn]:
        """Return the turns, shuffled by the two numbers."""
        turns: list[Turn] = [*self.sizes, PRODUCT, READ, PLAIN, *self.drafting]
        Random(f"{seed} {self.context} {number}").shuffle(turns)
        return turns

    def take(self, turn: Turn, keep: bool) -> None:
        """Do one measurement; if `keep` is false, it is a warm-up."""
        if isinstance(turn, int):
            _add(self.passes.setdefault(turn, []), self._pass(turn), keep)
        elif turn in self._busy:
            workload = self._busy[turn]
            seconds = time_seconds(self.target.device, workload.do)
            _add(self.peaks.setdefault(turn, []), float(f"{workload.size / seconds:.4g}"), keep)
        elif turn == PLAIN:
            _add(self.plain, time_seconds(self.target.device, self._plainly), keep)
        else:
            self._round(self.drafting[turn], keep)

    @torch.inference_mode()
    def grow(self) -> None:
        """Add a token to the text; every drafter received it in its turn."""
        self.run.score(DraftTree((self.text[-1],), (-1,)))
        self.run.keep((0,))
        self.text.append(self._token(len(self.text)))

    def costs(self) -> ContextCosts | None:
        """Return the costs measured so far; None if there are too few measurements."""
        sizes = [size for size in self.sizes if self.passes.get(size)]
        if not self.plain or not sizes:
            return None
        measured = [each for each in self.drafting.values() if each.seen["draft"]]
        return ContextCosts(
            self.context,
            unique_bytes([self.run.cache], excluding=[]),
            list(self.plain),
            [PassSamples(size, list(self.passes[size])) for size in sizes],
            [RoundTimes(each.member.name, **each.seen) for each in measured],
            _peak(self.target.device),
        )

    def _pass(self, tokens: int) -> float:
        root, *guesses = (self._token(len(self.text) - 1 + at) for at in range(tokens))
        tree = DraftTree.chain(root, guesses)
        seconds = time_seconds(self.target.device, lambda: self.run.score(tree))
        self.run.keep(())
        return seconds

    def _plainly(self) -> None:
        settings = self.cast.members[0].settings
        scores = self.run.score(DraftTree((self.text[-1],), (-1,)))
        u = settings.chance(len(self.text)).baseline()
        sample(self.run, scores.logits, settings.sampling, u)
        scores.check()
        self.run.keep(())

    def _round(self, drafting: DrafterTimes, keep: bool) -> None:
        member, session, run = drafting.member, drafting.session, self.run
        settings, chance = member.settings, member.settings.chance(len(self.text))
        following, run.capture = self._token(len(self.text)), member.drafter.capture
        start = self._now()
        proposal = session.propose(self.text, settings.gamma + 1, chance)
        drafted = self._now()
        scores = run.score(proposal.tree, proposal.extra_rows, proposal.precomputed)
        checked = self._now()
        rule = choose_rule(settings.rule, session.drawn, settings.sampling, draft_cut(session))
        judge(run, rule, proposal, scores.logits, settings.sampling, chance)
        scores.check()
        run.keep(())
        session.commit([following], scores.states.take([0]), scores.extra_rows)
        end = self._now()
        run.capture = CaptureSpec()
        drafting.guesses = len(proposal.tree) - 1
        parts = (drafted - start, checked - drafted, end - checked)
        for part, seconds in zip(PHASES, parts, strict=True):
            _add(drafting.seen[part], seconds, keep)

    def _token(self, at: int) -> int:
        # The second half of the text repeats the first, so that n-grams find a match.
        return 1 + at % max(1, self.context // 2) % (self.target.vocab_size - 1)

    def _now(self) -> float:
        synchronize(self.target.device)
        return perf_counter()


def _all_taps(members: Sequence[Member]) -> CaptureSpec:
    captures = [member.drafter.capture for member in members]
    return CaptureSpec(
        tuple(sorted({k for each in captures for k in each.layers})),
        any(each.final for each in captures),
        tuple(sorted({k for each in captures for k in each.keys_values})),
    )


def _add(times: list[float], value: float, keep: bool) -> None:
    if keep:
        times.append(round(value, DIGITS))


def _peak(device: torch.device) -> int | None:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """How much is measured. seed: seed of the order."""

    contexts: tuple[int, ...]
    rounds: int
    seed: int = 1
    sizes: tuple[int, ...] = SIZES

    @property
    def longest(self) -> int:
        """The number of tokens that a target must support."""
        return max(self.contexts) + max(self.sizes) + self.rounds + 2

    def turns(self, drafters: int) -> int:
        """Return the number of measurements of one shape, including warm-up turns."""
        return len(self.contexts) * (self.rounds + 1) * (len(self.sizes) + 3 + drafters)


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


@dataclass
class ShapeMeasurement:
    """A file in progress; `file` returns what has been measured so far."""

    device: torch.device
    dtype: torch.dtype
    plan: ShapePlan
    command: str
    models: list[ModelCosts] = field(default_factory=list)
    load: float | None = field(default_factory=_load)

    def steps(self, row: Model, stop: Stop = never) -> Iterator[None]:
        """Measure a shape, one measurement per step; all measurements made are kept."""
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
