"""Choose the device and precision of a model: the best on this machine, or by name.

On a CPU the precision is float32 unless another is named, because greedy output must equal plain
decoding token for token. torch is imported only when a device is needed.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import torch

KINDS: Final = ("cuda", "mps", "cpu")  # in order of preference
DTYPES: Final = ("float32", "bfloat16", "float16")
MEMORY_SIGNS: Final = ("allocate memory", "not enough memory", "out of memory")


class NotEnoughMemory(ValueError):
    """A model or a run does not fit in memory."""


def pick_device(name: str | None = None) -> torch.device:
    """Return a device by name, or the best one of this machine.

    "cuda" becomes "cuda:0", the name that tensors report. Under two names, the same weights would
    be loaded twice. The processes of a tensor-parallel run get one device each.

    Args:
        name: "cpu", "cuda", "cuda:1" or "mps". None: the best one.

    Raises:
        ValueError: This machine has no such device.
    """
    import torch

    from specviz.models.parallel import own_device

    if name is None:
        name = next(kind for kind in KINDS if device_count(kind))
    kind, _, index = name.partition(":")
    if kind not in KINDS or (index and not index.isdecimal()):
        raise ValueError(f"No device is called {name!r}; choose one of {', '.join(KINDS)}.")
    number = int(index or (own_device() if kind == "cuda" else 0))
    if number >= device_count(kind):
        raise ValueError(f"This machine has no device {name!r}; it has {_available()}.")
    if kind == "cpu":
        return torch.device(kind)
    if kind == "cuda":
        # In half precision, torch prefers cuDNN's attention on some GPUs. cuDNN builds a new plan,
        # which takes milliseconds, whenever the cache has grown by a row.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device(kind, number)


def device_count(kind: str) -> int:
    """Return how many devices of a kind torch can use here."""
    import torch

    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return 1 if kind == "cpu" or torch.backends.mps.is_available() else 0


def pick_dtype(device: torch.device, name: str | None = None) -> torch.dtype:
    """Return the precision called `name`, or the best one for the device.

    That is float32, and on CUDA bfloat16, or float16 if the GPU lacks bfloat16.

    Raises:
        ValueError: The name is not in DTYPES.
    """
    import torch

    if name is None:
        if device.type != "cuda":
            return torch.float32
        with torch.cuda.device(device):
            has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if name not in DTYPES:
        raise ValueError(f"No dtype is called {name!r}; choose one of {', '.join(DTYPES)}.")
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    return dtype


def has_fast_bf16(device: torch.device) -> bool:
    """Return whether the device has instructions for bfloat16 products; emulation is slow.

    Only x86 is checked, where most processors lack them; other devices are assumed to have them.
    """
    from specviz.adapters.torch import has_bf16_instructions

    if device.type != "cpu" or platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    return has_bf16_instructions()


def describe_device(device: torch.device) -> str:
    """Return the device in words, such as "2 CPU cores" or the GPU's name."""
    import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "mps":
        return "Apple GPU"
    cores = usable_cores()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"


def cpu_name(listed: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, or its architecture if the name is not known."""
    lines = listed.read_text(encoding="utf-8").split("\n") if listed.is_file() else []
    named = [line.split(":", 1)[1] for line in lines if line.startswith("model name")]
    return " ".join(named[0].split()) if named else platform.machine()


def usable_cores() -> int:
    """Return how many CPU cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory(device: torch.device, listed: Path = Path("/proc/meminfo")) -> int | None:
    """Return the bytes that can be allocated on a device now, or None if unknown."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type != "cpu" or not listed.is_file():
        return None
    lines = listed.read_text(encoding="utf-8").splitlines()
    return next((int(x.split()[1]) << 10 for x in lines if x.startswith("MemAvailable:")), None)


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished its queued work, so that a clock can be read."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception means that memory ran out, on any device."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    words = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in words for sign in MEMORY_SIGNS)


def _available() -> str:
    return ", ".join(kind for kind in KINDS if device_count(kind))
