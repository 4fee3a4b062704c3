"""Choose how many CPU threads to use, depending on what else the machine does.

Two threads that work on one small operation wait for each other. If another process uses one of
their cores, each operation takes as long as a time slice of the operating system. On two cores with
another busy process, decoding with two threads has an eighth of its usual speed, and with one
thread two thirds (tests/load/waiting.py).
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
CLEAR: Final = 1.25  # one thread must be faster by this factor; on idle machines it never is


@cache
def default_threads() -> int:
    """Return torch's default number of threads: all cores, or what the operator has set."""
    return torch.get_num_threads()


def choose_threads(measure: Callable[[], float] | None = None) -> int:
    """Use all threads, or one if that is clearly faster now, between jobs; return how many."""
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
    """Give NumPy's BLAS as many threads as torch; return their number.

    For a small network, one thread is used: waking a second one takes longer than it saves (House,
    the model that ships with specviz: 171 tokens/s with two threads, 271 with one). One is also
    used if the environment does not limit how long BLAS threads spin (see `settings.threads`),
    because spinning threads take cores from torch.
    """
    several = large and OPENBLAS_TIMEOUT in os.environ
    count = torch.get_num_threads() if several else 1
    _blas().limit(limits=count)
    return count


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@torch.inference_mode()
def _seconds() -> float:
    # With the sizes of a small model's layers.
    row, weight = torch.ones(8, 512), torch.ones(512, 512)
    start = perf_counter()
    for _ in range(PRODUCTS):
        row = torch.nn.functional.linear(row, weight).clamp(max=1.0)
    return perf_counter() - start
