"""Where a model runs and in which precision: chosen here, or named by the person, and checked.

Rule: on a CPU the precision is float32 unless a person names another, since greedy output must
equal plain decoding token for token. torch is imported only when a device is asked for.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import torch

KINDS: Final = ("cuda", "mps", "cpu")  # in the order they are preferred
DTYPES: Final = ("float32", "bfloat16", "float16")
MEMORY_SIGNS: Final = ("allocate memory", "not enough memory", "out of memory")


class NotEnoughMemory(ValueError):
    """A model or a run does not fit; the message is a sentence."""


def pick_device(name: str | None = None) -> torch.device:
    """The device called `name` ("cpu", "cuda", "cuda:1", "mps"), or the best one of this machine.

    One of several has its number always ("cuda" is "cuda:0"), as tensors on it say themselves: by
    two names the same weights would be loaded twice. Where processes share a target, each has its
    own. Raises ValueError where there is no such device.
    """
    import torch

    from specviz.models.parallel import own_device

    if name is None:
        name = next(kind for kind in KINDS if device_count(kind))
    kind, _, index = name.partition(":")
    if kind not in KINDS or (index and not index.isdecimal()):
        raise ValueError(f"No device is called {name!r}; choose {' or '.join(KINDS)}.")
    number = int(index or (own_device() if kind == "cuda" else 0))
    if number >= device_count(kind):
        raise ValueError(f"This machine has no device {name!r}; it has {_those_here()}.")
    if kind == "cpu":
        return torch.device(kind)
    if kind == "cuda":
        # cuDNN plans anew, for milliseconds, whenever a cache has grown by a row; on some GPUs
        # torch asks it first in half precision.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device(kind, number)


def device_count(kind: str) -> int:
    """How many devices of a kind torch can use here."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return 1 if kind == "cpu" or torch.backends.mps.is_available() else 0


def pick_dtype(device: torch.device, name: str | None = None) -> torch.dtype:
    """The precision called `name`, or float32; on CUDA bfloat16, or float16 where it is too old.

    Raises ValueError for a name that is not in DTYPES.
    """
    import torch

    if name is None:
        if device.type != "cuda":
            return torch.float32
        with torch.cuda.device(device):
            brain = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if brain else torch.float16
    if name not in DTYPES:
        raise ValueError(f"No dtype is called {name!r}; choose {', '.join(DTYPES)}.")
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    return dtype


def has_fast_bf16(device: torch.device) -> bool:
    """Whether products in bf16 are made by the device's own instructions; emulated, they are slow.

    Asked of x86, where most processors lack them; elsewhere they are taken to be there.
    """
    from specviz.adapters.torch import has_bf16_instructions

    if device.type != "cpu" or platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    return has_bf16_instructions()


def describe_device(device: torch.device) -> str:
    """The device in words: "2 CPU cores", or what the GPU calls itself."""
    import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "mps":
        return "Apple GPU"
    cores = usable_cores()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"


def cpu_name(listed: Path = Path("/proc/cpuinfo")) -> str:
    """What the processor calls itself, or its kind where it does not say."""
    lines = listed.read_text(encoding="utf-8").split("\n") if listed.is_file() else []
    named = [line.split(":", 1)[1] for line in lines if line.startswith("model name")]
    return " ".join(named[0].split()) if named else platform.machine()


def usable_cores() -> int:
    """The CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory(device: torch.device, listed: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that could be taken on a device now; None where it does not say."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type != "cpu" or not listed.is_file():
        return None
    lines = listed.read_text(encoding="utf-8").splitlines()
    return next((int(x.split()[1]) << 10 for x in lines if x.startswith("MemAvailable:")), None)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all that it was asked, so that a clock tells the truth."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on whichever device."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    words = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in words for sign in MEMORY_SIGNS)


def _those_here() -> str:
    return ", ".join(kind for kind in KINDS if device_count(kind))
