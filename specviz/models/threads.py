"""How many threads to use on a CPU right now.

Two threads that work on one small operation wait for each other. If another process uses one of
their cores, each operation takes as long as the system's time slices. On two cores beside a busy
process, all threads decode at an eighth of their idle speed and one thread at two thirds
(tests/load/waiting.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from statistics import median
from time import perf_counter
from typing import Final

import numpy  # noqa: F401 - loads its BLAS, which `threadpoolctl` can then find
import torch
from threadpoolctl import ThreadpoolController

from specviz.settings.threads import OPENBLAS_TIMEOUT

TURNS: Final = 5
PRODUCTS: Final = 20
CLEAR: Final = 1.25  # one thread must be faster by this factor; on an idle machine it is not


@cache
def default_threads() -> int:
    """Return how many threads torch uses by default: the cores, or what the host has set."""
    return torch.get_num_threads()


def choose_threads(measure: Callable[[], float] | None = None) -> int:
    """Use all threads, or one if that is clearly faster right now, and return how many.

    Call it between two jobs, in the thread that computes.

    Args:
        measure: Returns the seconds of a small computation.
    """
    all_threads, clock = default_threads(), measure or _seconds
    if all_threads > 1:
        found: dict[int, list[float]] = {all_threads: [], 1: []}
        for _ in range(TURNS):
            for count, seconds in found.items():
                torch.set_num_threads(count)
                seconds.append(clock())
        alone = median(found[1]) * CLEAR < median(found[all_threads])
        torch.set_num_threads(1 if alone else all_threads)
    share_with_numpy()
    return torch.get_num_threads()


def share_with_numpy(large: bool = True) -> int:
    """Set the thread count of NumPy's BLAS to torch's and return it; NumPy has no call for that.

    A small network uses one: waking a second takes longer than it saves (house, two threads: 171
    tokens/s with two, 271 with one). One is also used if the environment does not limit how long
    its threads spin (see `settings.threads`), because spinning threads take cores from torch.

    Args:
        large: Whether the network is large.
    """
    several = large and OPENBLAS_TIMEOUT in os.environ
    count = torch.get_num_threads() if several else 1
    _blas().limit(limits=count)
    return count


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of the loaded BLAS libraries."""
    return ThreadpoolController().select(user_api="blas")


@torch.inference_mode()
def _seconds() -> float:
    """Return the time of some products of the size of a small model's layers."""
    row, weight = torch.ones(8, 512), torch.ones(512, 512)
    start = perf_counter()
    for _ in range(PRODUCTS):
        row = torch.nn.functional.linear(row, weight).clamp(max=1.0)
    return perf_counter() - start
