"""How fast a device reads memory, and how much a plain pass reads of it.

A plain pass reads every weight once, so it cannot be faster than that. How far it stays behind
shows whether memory limits a measured speed-up, or the way in which passes are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch

from specviz.models.devices import synchronize
from specviz.models.passes import bytes_read

MAX_READ_BYTES: Final = 1 << 30  # more than any cache, but no second copy of a large model
READS: Final = 5  # measurements, after a first one to warm up; the fastest counts
EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What a plain pass reads. speed: measured on this device, bytes per second."""

    weights: int
    speed: float


def has_experts(model: Any) -> bool:
    """Return whether a pass reads only some weights, which depend on the token."""
    config = model.config.get_text_config()
    return any(getattr(config, name, None) for name in EXPERTS)


def memory_use(model: Any) -> MemoryUse | None:
    """Return what a plain pass reads, measured once per model; None if that is impossible."""
    if model not in _KNOWN:
        _KNOWN[model] = None if has_experts(model) else _measure(model)
    return _KNOWN[model]


_KNOWN: WeakKeyDictionary[Any, MemoryUse | None] = WeakKeyDictionary()


@torch.inference_mode()
def _measure(model: Any) -> MemoryUse | None:
    weights, device = bytes_read(model), model.device
    try:
        numbers = readable(weights, device)
    except RuntimeError:  # also torch.OutOfMemoryError
        return None
    numbers.amax()
    fastest = float("inf")
    for _ in range(READS):
        synchronize(device)
        start = perf_counter()
        numbers.amax()
        synchronize(device)
        fastest = min(fastest, perf_counter() - start)
    return MemoryUse(weights, numbers.nbytes / fastest)


def readable(weights: int, device: torch.device) -> torch.Tensor:
    """Return an array as large as these weights, whose maximum is the fastest way to read it.

    Its size is limited to MAX_READ_BYTES; a smaller array could fit into a cache. A matrix-vector
    product is not used, because torch's takes twice as long on some processors.
    """
    size = max(1, min(MAX_READ_BYTES, weights) // torch.float32.itemsize)
    return torch.ones(size, device=device)
