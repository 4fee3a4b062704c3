"""The speed limit set by memory bandwidth, in plain passes per second.

A plain pass reads every weight once, however fast the processor is. All matrices and norms are
counted, and for models like Llama the keys and values in the cache halfway through a run. An
embedding table is counted only if it is also the output head, since otherwise only single rows are
read. Activations and writes are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specviz.bench.methods import Prompt
from specviz.bench.sweep import dtype_of, read_workload, shape_of, time_seconds
from specviz.cost.sweep import DTYPES
from specviz.models.memory_speed import READS, has_experts
from specviz.models.passes import bytes_read
from specviz.models.target import Target


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The speed limit set by memory, in one turn.

    Attributes:
        bandwidth: Bytes read per second.
        passes: Plain passes per second, which are tokens per second at one token a pass.
    """

    bandwidth: float
    passes: float


Limiter = Callable[[Prompt], MemoryLimit]


def make_limiter(target: Target, new_tokens: int) -> Limiter | None:
    """Return a function that measures the limit for a prompt, or None if it is unknown."""
    if has_experts(target.model):
        return None
    weights, per_token, workload = (
        bytes_read(target.model),
        cache_bytes_per_token(target),
        read_workload(target),
    )

    def limit(prompt: Prompt) -> MemoryLimit:
        workload.do()
        seconds = min(time_seconds(target.device, workload.do) for _ in range(READS))
        bandwidth = workload.size / seconds
        halfway = len(prompt.ids) + new_tokens / 2
        return MemoryLimit(bandwidth, bandwidth / (weights + halfway * per_token))

    return limit


def cache_bytes_per_token(target: Target) -> float:
    """Return the bytes of keys and values per token; 0 if the model is not like Llama."""
    try:
        return shape_of(target).cache_bytes(DTYPES[dtype_of(target)])
    except ValueError:
        return 0.0
