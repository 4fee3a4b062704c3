"""The speed that memory allows: the plain passes a second for which it can read everything.

A plain pass reads every weight once, however fast the processor is. Counted are all matrices and
norms (a tied output head reads the whole embedding table; of a table that is only looked up one row
is read, which is left out), and in Llama's layout the keys and values in the cache halfway through
a run. Not counted: activations, and what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specviz.bench.methods import Prompt
from specviz.bench.sweep import dtype_of, read_workload, shape_of, time_seconds
from specviz.cost.sweep import DTYPES
from specviz.models.target import Target
from specviz.models.weights import bytes_read

READS: Final = 5  # a turn, after one that warms up; the fastest counts
EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """What memory allowed in one turn. bandwidth: bytes read a second. passes: plain ones a second,
    which are tokens a second where each token takes a pass.
    """

    bandwidth: float
    passes: float


Limiter = Callable[[Prompt], MemoryLimit]


def make_limiter(target: Target, new_tokens: int) -> Limiter | None:
    """What measures the limit for a prompt; None where a pass's bytes are not known.

    They are not where a pass reads a part of its weights, chosen by token (experts).
    """
    config = target.model.config.get_text_config()
    if any(getattr(config, name, None) for name in EXPERTS):
        return None
    weights, per_token, busy = (
        bytes_read(target.model),
        cache_bytes_per_token(target),
        read_workload(target),
    )

    def limit(prompt: Prompt) -> MemoryLimit:
        busy.do()
        seconds = min(time_seconds(target.device, busy.do) for _ in range(READS))
        bandwidth = busy.size / seconds
        halfway = len(prompt.ids) + new_tokens / 2
        return MemoryLimit(bandwidth, bandwidth / (weights + halfway * per_token))

    return limit


def cache_bytes_per_token(target: Target) -> float:
    """Bytes of keys and values of one token; 0 where the model is not in Llama's layout."""
    try:
        return shape_of(target).cache_bytes(DTYPES[dtype_of(target)])
    except ValueError:
        return 0.0
