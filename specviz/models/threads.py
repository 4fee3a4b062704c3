"""With how many threads to compute on a CPU right now.

Two threads that work on one small operation wait for each other; where another process has one of
their cores, each operation takes as long as the system's turns do. On two cores beside a busy
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

import numpy  # noqa: F401 - its BLAS must be loaded before it is looked for
import torch
from threadpoolctl import ThreadpoolController

from specviz.settings.threads import NUMPY

TURNS: Final = 5
PRODUCTS: Final = 20
CLEAR: Final = 1.25  # one thread must be quicker by this: on an idle machine it is not


@cache
def usual() -> int:
    """As many as torch would take by itself: the cores, or what a host has said."""
    return torch.get_num_threads()


def settle(measure: Callable[[], float] | None = None) -> int:
    """Take all threads, or one where that is clearly quicker just now; how many it is.

    In the thread that computes, between two jobs. measure: seconds of a little work.
    """
    many, clock = usual(), measure or _seconds
    if many > 1:
        found: dict[int, list[float]] = {many: [], 1: []}
        for _ in range(TURNS):
            for count, seconds in found.items():
                torch.set_num_threads(count)
                seconds.append(clock())
        alone = median(found[1]) * CLEAR < median(found[many])
        torch.set_num_threads(1 if alone else many)
    share_with_numpy()
    return torch.get_num_threads()


def share_with_numpy(large: bool = True) -> None:
    """Give NumPy's BLAS as many threads as torch has; it has its own, and no call to set them.

    One for a network that is not large: to wake a second takes longer than it saves (house, two
    threads: 171 tokens/s with two, 271 with one). One also where the environment does not
    limit how long its threads spin (see `settings.threads`): spinning takes cores from torch's.
    """
    several = large and NUMPY in os.environ
    _blas().limit(limits=torch.get_num_threads() if several else 1)


@cache
def _blas() -> ThreadpoolController:
    """What sets the threads of the BLAS libraries that are loaded."""
    return ThreadpoolController().select(user_api="blas")


@torch.inference_mode()
def _seconds() -> float:
    """Products of the size of a small model's layers, one after the other."""
    row, weight = torch.ones(8, 512), torch.ones(512, 512)
    start = perf_counter()
    for _ in range(PRODUCTS):
        row = torch.nn.functional.linear(row, weight).clamp(max=1.0)
    return perf_counter() - start
