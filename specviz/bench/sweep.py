"""Measure a sweep: how the target's pass time depends on its tokens, and the peaks.

The peaks are the machine's highest operations and bytes per second. Sizes and peaks are measured in
turns, in an order that is shuffled each round, so a machine that becomes slower affects all of them
alike. Only the pass itself is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from time import perf_counter
from typing import Final

import torch

from specviz.cost.roofline import ModelShape
from specviz.cost.sweep import CONTEXT, SIZES, PassSamples, Sweep
from specviz.engine.loop import Stop, never
from specviz.engine.recorder import versions
from specviz.models.devices import cpu_name, describe_device, synchronize
from specviz.models.memory_speed import readable
from specviz.models.passes import CaptureSpec, bytes_read
from specviz.models.target import Target
from specviz.verification.tree import DraftTree

PRODUCT: Final = "product"
READ: Final = "read"


EDGE, WIDE_EDGE = 1024, 4096  # rows and columns of the large matrices


MIN_ROUNDS, MAX_ROUNDS = 5, 15  # minimum and maximum number of rounds


DIGITS: Final = 7  # number of decimals of seconds: a tenth of a microsecond


Turn = int | str  # number of tokens in a pass, or the name of a peak


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """How much is measured.

    Attributes:
        context: Tokens in the cache.
        seed: Seed of the order.
        budget: Seconds for all rounds, if MIN_ROUNDS of them fit.
        longest: Seconds after which no further round starts.
    """

    sizes: tuple[int, ...] = SIZES
    context: int = CONTEXT
    seed: int = 1
    budget: float = 4.0
    longest: float = 20.0

    def order(self, number: int) -> list[Turn]:
        """Return the turns of a round, shuffled with the seed and the round's number."""
        turns: list[Turn] = [*self.sizes, PRODUCT, READ]
        Random(f"{self.seed} {number}").shuffle(turns)
        return turns

    def rounds(self, seconds: float) -> int:
        """Return how many rounds are possible within the time limit if one takes `seconds`."""
        return max(MIN_ROUNDS, min(MAX_ROUNDS, int(self.budget / seconds)))


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """The event after each measurement. of: their number; None during the warm-up."""

    done: int
    of: int | None


class SweepRun:
    """A sweep in progress; `sweep` returns what has been measured so far.

    Raises ValueError if the target's context is too short, or its shape is not known.
    """

    def __init__(self, target: Target, plan: SweepPlan | None = None) -> None:
        self.target = target
        self.plan = plan or SweepPlan()
        self._shape = shape_of(target)
        self.rounds = MIN_ROUNDS
        self._passes = PassTimer(target, self.plan.context, max(self.plan.sizes))
        self._busy = {PRODUCT: matmul_workload(target), READ: read_workload(target)}
        self._seen: dict[Turn, list[float]] = {}

    def steps(self, stop: Stop = never) -> Iterator[SweepProgress]:
        """Measure, one step at a time; a round to warm up comes first and is discarded.

        stop: called between measurements; if it returns True, the sweep stops, and finished
        measurements are kept.
        """
        spent = 0.0
        for done, turn in enumerate(self.plan.order(0), start=1):
            if stop():
                return
            spent += self._seconds(turn)
            yield SweepProgress(done, None)
        self.rounds, busy, counter = self.plan.rounds(spent), 0.0, count(1)
        of = self.rounds * len(self.plan.order(0))
        for number in range(1, self.rounds + 1):
            if number > 1 and busy > self.plan.longest:
                self.rounds = number - 1
                return
            for turn in self.plan.order(number):
                if stop():
                    return
                start = perf_counter()
                self._seen.setdefault(turn, []).append(round(self._seconds(turn), DIGITS))
                busy += perf_counter() - start  # without the time of other jobs in between
                yield SweepProgress(next(counter), of)

    def sweep(self) -> Sweep:
        """Return what has been measured so far."""
        target, plan = self.target, self.plan
        sizes = [size for size in sorted(plan.sizes) if size in self._seen]
        return Sweep(
            target=target.card.name,
            shape=self._shape,
            machine=describe_device(target.device),
            processor=cpu_name() if target.device.type == "cpu" else "",
            dtype=dtype_of(target),
            threads=torch.get_num_threads(),
            versions=dict(versions()),
            context=plan.context,
            seed=plan.seed,
            rounds=self.rounds,
            flops=self._rates(PRODUCT),
            bandwidth=self._rates(READ),
            points=[PassSamples(size, list(self._seen[size])) for size in sizes],
        )

    def _seconds(self, turn: Turn) -> float:
        if isinstance(turn, int):
            return self._passes.seconds(turn)
        return time_seconds(self.target.device, self._busy[turn].do)

    def _rates(self, turn: str) -> list[float]:
        size = self._busy[turn].size
        return [float(f"{size / seconds:.4g}") for seconds in self._seen.get(turn, [])]


class PassTimer:
    """Times passes of any size after a context that is in the cache."""

    def __init__(self, target: Target, context: int, most: int) -> None:
        if context + most > target.max_length:
            raise ValueError(
                f"{target.card.name} can see {target.max_length:,} tokens, "
                f"and a sweep needs {context + most:,}."
            )
        self.target = target
        self.run = target.start(CaptureSpec())
        self.run.prefill(self._ids(context))

    def seconds(self, tokens: int) -> float:
        """Time one pass over a chain of tokens, as in a round; then reset the cache."""
        root, *guesses = self._ids(tokens)
        tree = DraftTree.chain(root, guesses)
        elapsed = time_seconds(self.target.device, lambda: self.run.score(tree))
        self.run.cache.cut(self.run.length)
        return elapsed

    def _ids(self, count: int) -> list[int]:
        # Arbitrary, since the time does not depend on them.
        return [1 + at % (self.target.vocab_size - 1) for at in range(count)]


@dataclass(frozen=True, slots=True)
class Workload:
    """Work that uses one part of the machine as much as possible. size: operations or bytes."""

    do: Callable[[], object]
    size: float


def matmul_workload(target: Target) -> Workload:
    """Return a product of two large square matrices in the target's dtype."""
    edge = EDGE if target.device.type == "cpu" else WIDE_EDGE
    matrix = torch.ones(edge, edge, dtype=target.dtype, device=target.device)
    product = torch.empty_like(matrix)
    return Workload(lambda: torch.mm(matrix, matrix, out=product), 2.0 * edge**3)


def read_workload(target: Target) -> Workload:
    """Return the computation of a maximum over an array as large as the weights."""
    numbers = readable(bytes_read(target.model), target.device)
    return Workload(numbers.amax, float(numbers.nbytes))


def time_seconds(device: torch.device, do: Callable[[], object]) -> float:
    """Return how many seconds the device needs for this work."""
    synchronize(device)
    start = perf_counter()
    do()
    synchronize(device)
    return perf_counter() - start


def shape_of(target: Target) -> ModelShape:
    """Return the target's shape. Raises ValueError for a model not in Llama's layout."""
    return ModelShape.of_config(target.model.config.to_dict())


def dtype_of(target: Target) -> str:
    """Return the name of the target's dtype."""
    return str(target.dtype).removeprefix("torch.")
