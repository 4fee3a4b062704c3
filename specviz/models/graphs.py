"""Recorded functions of tensors: CUDA graphs, each started by one call of the driver.

A pass of a small model is some hundred kernels. Starting them one by one takes the host longer than
the GPU needs to compute them; a graph is started at once. Its inputs, its outputs and the memory
that it changes stay at the same addresses, so a graph belongs to one shape of its inputs and to one
memory (`Pool`).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from specviz.adapters.spaces import ZEROGPU
from specviz.adapters.torch import end_allocations
from specviz.models.devices import process_count

FIRST_GPU: Final = torch.device("cuda", 0)
MOST_ROWS: Final = 64  # a pass over more rows is not recorded
IDLE: Final = 2  # number of memories that are kept for later runs, with their graphs
MOST_RECORDINGS: Final = 64  # of one memory; each has memory of its own for what it computes
RECORDING: Final = Lock()  # torch records one graph at a time
REACH: Final = 512  # rows of the smallest memory; a larger one has twice as many, and so on

Function = Callable[..., tuple[Tensor, ...]]
# Computes a function's outputs again, from the values that its inputs have now.
Replay = Callable[[], object]

log = logging.getLogger(__name__)


def uses_graphs(device: torch.device) -> bool:
    """Return whether passes on a device are recorded.

    They are not on a second GPU, in a model that is split over processes, and on ZeroGPU, where a
    process lives for one call and weights are moved in ways that joined weights do not survive.
    """
    return device == FIRST_GPU and process_count() == 1 and not ZEROGPU


def record_graph(function: Function, inputs: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], Replay]:
    """Run a function once, then record it.

    Returns the outputs, which are valid until the next replay, and a function that replays.

    Raises RuntimeError if this torch cannot record graphs, or memory ran out.

    Args:
        function: Must not synchronise, and must give the same result if it runs twice.
        inputs: Tensors on the device, at their final addresses and with the values of the first
            run.
    """
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    before, aside = torch.cuda.current_stream(), _recording_stream()
    with RECORDING:
        aside.wait_stream(before)
        with torch.cuda.stream(aside):  # kernels are loaded here, which a recording does not allow
            function(*inputs)
        before.wait_stream(aside)
        try:
            # Another thread may compute meanwhile, and its calls must not invalidate the recording.
            # If a recording fails, torch leaves its stream as the current one.
            with torch.cuda.stream(before), torch.cuda.graph(graph, pool, aside, "thread_local"):
                outputs = function(*inputs)
        except RuntimeError:
            end_allocations(pool)
            raise
    graph.replay()
    return outputs, graph.replay


@cache
def _recording_stream() -> torch.cuda.Stream:
    # One for all: torch keeps memory for matrix products for every stream that has computed one.
    return torch.cuda.Stream(FIRST_GPU)


@dataclass(frozen=True, slots=True)
class Given:
    """The value of an input.

    Attributes:
        value: A tensor, on the device or on the host.
        shape: The input's shape, in whose first rows the value is written.
        last: Whether the value is written in the last rows instead.
    """

    value: Tensor
    shape: tuple[int, ...]
    last: bool = False

    def allocate(self, device: torch.device) -> Tensor:
        """Return memory for the input."""
        return torch.zeros(self.shape, dtype=self.value.dtype, device=device)

    def write(self, place: Tensor) -> None:
        """Write the value to an input; what is in the other rows does not matter."""
        count = len(self.value)
        rows = place[len(place) - count :] if self.last else place[:count]
        rows.copy_(self.value, non_blocking=True)


class Recorder:
    """Records functions until that fails once; from then on, they run without graphs."""

    works = True

    def __init__(self, of: str = "passes") -> None:
        self.of = of

    def run(
        self, memory: Memory, key: Hashable, function: Function, given: Sequence[Given]
    ) -> tuple[Tensor, ...] | None:
        """Compute a function, which is recorded at its first use.

        Returns the outputs, which the next call overwrites; None if the function must run without a
        graph.

        Args:
            memory: The memory that it uses, to whose recordings a new one is added.
            key: What the function computes, together with the shapes of its inputs.
            function: The function.
            given: Its inputs.
        """
        if not self.works:
            return None
        if key not in memory.recordings:
            inputs = [each.allocate(memory.keys.device) for each in given]
            for each, place in zip(given, inputs, strict=True):
                each.write(place)
            try:
                memory.recordings[key] = (inputs, *_record(memory, function, inputs))
            except RuntimeError as problem:  # also torch.OutOfMemoryError
                log.warning("%s run without CUDA graphs from here on: %s", self.of, problem)
                self.works = False
                return None
            memory.drop_oldest()
            outputs: tuple[Tensor, ...] = memory.recordings[key][1]
            return outputs
        inputs, outputs, replay = memory.recordings[key] = memory.recordings.pop(key)
        for each, place in zip(given, inputs, strict=True):
            each.write(place)
        replay()
        return outputs


def _record(
    memory: Memory, function: Function, inputs: Sequence[Tensor]
) -> tuple[tuple[Tensor, ...], Replay]:
    try:
        return record_graph(function, inputs)
    except torch.OutOfMemoryError:  # older graphs give way to new ones
        memory.recordings.clear()
        memory.kept.clear()
        torch.cuda.empty_cache()
        return record_graph(function, inputs)


@dataclass(slots=True)
class Memory:
    """Keys and values of one run at a time, at fixed addresses, with the graphs that use them.

    Attributes:
        keys: (layers, heads, reach + 1, head size). Padding rows write to the last row.
        values: The same for values.
        tables: What depends on positions alone, such as cosines, (reach, …) each.
        recordings: See `Recorder.run`; the last one used comes last.
        kept: What the host keeps of each recorded pass or draft; see `models.planned`.
    """

    keys: Tensor
    values: Tensor
    recorder: Recorder
    tables: tuple[Tensor, ...] = ()
    judging: Recorder = field(default_factory=Recorder)
    recordings: dict[Any, Any] = field(default_factory=dict)
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def reach(self) -> int:
        """Number of rows that fit."""
        return self.keys.shape[2] - 1

    def drop_oldest(self) -> None:
        """Drop the recording that was not used for longest, if there are too many."""
        if len(self.recordings) > MOST_RECORDINGS:
            oldest = next(iter(self.recordings))
            del self.recordings[oldest]
            self.kept.pop(oldest, None)


Owner = TypeVar("Owner")


class Pool(Generic[Owner]):
    """The memories of a model, each lent to one run; a later run finds its graphs there."""

    def __init__(self, allocate: Callable[[int], Memory]) -> None:
        """Create a pool without memory. allocate: returns memory for this number of rows."""
        self._allocate, self._idle = allocate, list[Memory]()

    @torch.inference_mode()
    def lend(self, owner: Owner) -> Memory:
        """Lend a memory for as long as its owner exists: the largest, or a new one.

        A run that outgrew its memory gives back both, and only the larger one has all its graphs.
        """
        best = max(range(len(self._idle)), key=lambda i: (self._idle[i].reach, i), default=None)
        memory = self._allocate(REACH) if best is None else self._idle.pop(best)
        memory.keys.zero_()  # a run that failed may have left NaN, which no mask hides
        memory.values.zero_()
        weakref.finalize(owner, _give_back, self._idle, memory)
        return memory

    def grow(self, owner: Owner, old: Memory, rows: int) -> Memory:
        """Return larger memory with the contents of the old one."""
        memory = self._allocate(ceil_power(rows))
        memory.keys[:, :, : old.reach] = old.keys[:, :, :-1]
        memory.values[:, :, : old.reach] = old.values[:, :, :-1]
        weakref.finalize(owner, _give_back, self._idle, memory)
        return memory


def _give_back(idle: list[Memory], memory: Memory) -> None:
    if len(idle) < IDLE:
        idle.append(memory)


def ceil_power(number: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << max(0, number - 1).bit_length()


def padded_rows(count: int) -> int:
    """Return the number of rows, with padding, of a pass that reads new rows of a text."""
    return ceil_power(count) if count <= MOST_ROWS else count


def pad_front(tensor: Tensor, rows: int, value: float = 0) -> Tensor:
    """Return a host tensor (n, …) as the last of `rows` rows, with a value in the others."""
    if rows == len(tensor):
        return tensor
    padded = tensor.new_full((rows, *tensor.shape[1:]), value)
    padded[rows - len(tensor) :] = tensor
    return padded
