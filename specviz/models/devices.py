"""Choose the device and precision of a model, or split a target over several processes.

On a CPU the precision is float32 unless another is named, because greedy output must equal plain
decoding token for token. torch is imported only when a device is needed.

With tensor parallelism, each process holds a part of every layer: `torchrun --nproc-per-node N -m
specviz run …` starts N processes that decode the same text. transformers splits the target by its
own plan and sums the parts in every pass. Each process drafts and verifies on its own. The
processes must not diverge: random numbers are computed from the seed, so all processes sample the
same tokens; no decision depends on a measured time; and before each pass, all processes check that
they score the same rows.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from specviz.models.errors import Unsuitable
from specviz.settings.suggestion import did_you_mean

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig


KINDS: Final = ("cuda", "mps", "cpu")  # kinds of devices, in order of preference
DTYPES: Final = ("float32", "bfloat16", "float16")
MEMORY_SIGNS: Final = ("allocate memory", "not enough memory", "out of memory")


class NotEnoughMemory(ValueError):
    """Raised if a model or a run does not fit in memory."""


def pick_device(name: str | None = None) -> torch.device:
    """Return a device by name, or the best one of this machine.

    "cuda" becomes "cuda:0", the name that tensors report: models are cached by this name, so with
    two names the same weights would be loaded twice. The processes of a tensor-parallel run get one
    device each. name: "cpu", "cuda", "cuda:1" or "mps". None: the best one. Raises ValueError if
    this machine has no such device.
    """
    import torch

    if name is None:
        name = next(kind for kind in KINDS if device_count(kind))
    kind, _, index = name.partition(":")
    if kind not in KINDS or (index and not index.isdecimal()):
        hint = did_you_mean(kind, KINDS)
        raise ValueError(f"No device is called {name!r}; choose one of {', '.join(KINDS)}.{hint}")
    number = int(index or (own_device() if kind == "cuda" else 0))
    if number >= device_count(kind):
        raise ValueError(f"This machine has no device {name!r}; it has {_available()}.")
    if kind == "cpu":
        return torch.device(kind)
    if kind == "cuda":
        # In half precision, torch prefers cuDNN's attention on some GPUs. There, each time the
        # cache has grown by a row, cuDNN builds a new plan, which takes milliseconds.
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

    The best is float32 on CPUs, and on CUDA bfloat16, or float16 if the GPU does not support
    bfloat16. Raises ValueError if the name is not in DTYPES.
    """
    import torch

    if name is None:
        if device.type != "cuda":
            return torch.float32
        with torch.cuda.device(device):
            has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if name not in DTYPES:
        hint = did_you_mean(name, DTYPES)
        raise ValueError(f"No dtype is called {name!r}; choose one of {', '.join(DTYPES)}.{hint}")
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    return dtype


def has_fast_bf16(device: torch.device) -> bool:
    """Return whether the device has instructions for bfloat16; only x86 is checked."""
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


def describe_machine(device: torch.device) -> str:
    """Return the device in words with the processor's name, for numbers that are kept."""
    name = describe_device(device)
    return f"{name} ({cpu_name()})" if device.type == "cpu" else name


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
    """Wait until the device has finished this thread's work, so that a clock can be read."""
    import torch

    if device.type == "cuda":
        # To wait for the whole device would spoil a graph that another thread is recording.
        torch.cuda.current_stream(device).synchronize()
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


NEEDED: Final = "accelerate"  # without it, transformers cannot split a model


class ProcessesDiverged(ValueError):
    """Raised if the processes of one run decode different texts."""


def process_count() -> int:
    """Return how many processes torchrun started for this run; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "LOCAL_RANK" in os.environ else 1


def is_leader() -> bool:
    """Return whether this is the process that writes files and prints."""
    return process_count() == 1 or os.environ.get("RANK") == "0"


def own_device() -> int:
    """Return the index of this process's GPU on its machine."""
    return int(os.environ["LOCAL_RANK"]) if process_count() > 1 else 0


def sharding_options(name: str, config: PreTrainedConfig) -> dict[str, Any]:
    """Return arguments for `from_pretrained` that make each process load its part of a model.

    The result is empty if there is only one process. Raises Unsuitable if its heads cannot be
    divided evenly, or a package is missing.
    """
    if process_count() == 1:
        return {}
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    if heads % process_count():
        raise Unsuitable(
            f"{name!r} has {heads} key-value heads, which cannot be divided evenly among "
            f"{process_count()} processes."
        )
    if find_spec(NEEDED) is None:
        raise Unsuitable(
            f"{name!r} cannot be split over {process_count()} processes without the package "
            f"{NEEDED}: pip install {NEEDED}."
        )
    from specviz.adapters.transformers import tensor_parallel_options

    return tensor_parallel_options()


def check_agreement(device: torch.device, *numbers: Sequence[int]) -> None:
    """Check that every process passes the same numbers.

    Raises ProcessesDiverged if the processes pass different numbers.

    Args:
        device: The device over which the numbers are exchanged.
        *numbers: Lists of whole numbers, such as token ids and positions.
    """
    if process_count() == 1:
        return
    own = hash(tuple(tuple(each) for each in numbers))  # of integers, so equal in all processes
    if len(set(_gather(device, own))) > 1:
        raise ProcessesDiverged(
            f"The {process_count()} processes of this run no longer decode the same text because "
            "their rounding differs, so it was ended. Run it on devices of one kind."
        )


def any_process(device: torch.device, stop: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that returns True in all processes as soon as `stop` does in one."""
    if process_count() == 1:
        return stop
    return lambda: any(_gather(device, int(stop())))


def shutdown() -> None:
    """Disconnect from the other processes at the end of a run."""
    if process_count() == 1:
        return
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def exit_process(status: int) -> NoReturn:
    """End this process with an exit status.

    If there are several processes, the interpreter's finalization is skipped. Even after
    `shutdown`, threads of the connection may still hold tensors. A thread that requests the
    interpreter's lock during finalization aborts the process, and torchrun then reports a complete
    run as failed (https://github.com/pytorch/pytorch/pull/179291).
    """
    if process_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _gather(device: torch.device, own: int) -> list[int]:
    import torch
    from torch import distributed

    mine = torch.tensor([own], dtype=torch.long, device=device)
    found = [torch.empty_like(mine) for _ in range(process_count())]
    distributed.all_gather(found, mine)
    numbers: list[int] = torch.cat(found).tolist()
    return numbers
