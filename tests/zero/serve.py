"""The app as a ZeroGPU Space starts it, with the real package `spaces`, but without a GPU.

Usage: serve.py PORT, with the variables of such a Space set (see test_zero.py). Real: the package's
own CUDA emulation in this process, its packing of the weights, its fork and its queues. Simulated:
the CUDA version of torch, and in the forked process the device (`pretend.py`), onto which the
packed weights are read from their file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

import torch  # noqa: E402

if torch.version.cuda is None:  # a wheel for CPUs
    torch.version.cuda = "13.0"
    torch._C._cuda_init = lambda: None
    torch.cuda._is_in_bad_fork = bool  # bool() is False, and bool can be pickled

import spaces  # noqa: E402
from pretend import Cuda, pretended  # noqa: E402
from spaces.zero import torch as emulation  # noqa: E402
from spaces.zero.torch import patching  # noqa: E402

lend = spaces.GPU


def with_pretended_gpu(duration: Any) -> Callable[[Any], Any]:
    """Replace `spaces.GPU` in a process that has no GPU."""

    def decorated(task: Callable[..., Iterator[str]]) -> Any:
        @wraps(task)
        def on_device(*args: Any) -> Iterator[str]:
            with pretended():
                yield from task(*args)

        return lend(duration=duration)(on_device)

    return decorated


def move(callback: Any = None) -> None:
    """Copy every packed tensor from its file onto the simulated device."""
    for pack in patching.tensor_packs:
        rows = [row for batch in pack.batches for row in batch] + pack.big_tensors
        with Path(pack.path()).open("rb") as file:
            for known, size, aligned in rows:
                block = bytearray(file.read(aligned))
                flat = torch.frombuffer(block, dtype=known.dtype, count=known.numel())
                real = flat.as_strided(known.shape, known.stride())
                for fake in pack.fakes[known]:
                    fake.data = real
                    fake.__class__ = Cuda
                assert size <= len(block)


spaces.GPU = with_pretended_gpu
emulation.init = lambda uuid: os.environ.update(CUDA_VISIBLE_DEVICES=uuid)
emulation.move = move

from specviz.ui.page import Options, launch  # noqa: E402

if __name__ == "__main__":
    launch(Options(port=int(sys.argv[1])))
