"""Tensor parallelism: split one target over several processes, each with a part of every layer.

`torchrun --nproc-per-node N -m specviz run …` starts N processes that decode the same text.
transformers splits the target by its own plan and sums the parts in every pass. Each process drafts
and verifies on its own.

The processes must not diverge. Random numbers are computed from the seed, so all processes sample
the same tokens. No decision depends on a measured time. Before each pass, all processes check that
they score the same rows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NoReturn

from specviz.models.errors import Unsuitable

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig

NEEDED: Final = "accelerate"  # transformers requires it to split a model


class ProcessesDiverged(ValueError):
    """The processes of one run decode different texts."""


def process_count() -> int:
    """Return how many processes torchrun started for this run; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "LOCAL_RANK" in os.environ else 1


def is_leader() -> bool:
    """Return whether this process writes and prints."""
    return process_count() == 1 or os.environ.get("RANK") == "0"


def own_device() -> int:
    """Return the index of this process's GPU on its machine."""
    return int(os.environ["LOCAL_RANK"]) if process_count() > 1 else 0


def sharding_options(name: str, config: PreTrainedConfig) -> dict[str, Any]:
    """Return arguments of `from_pretrained` with which each process loads its part of the model.

    There are none for a single process.

    Args:
        name: The model's name, for errors.
        config: The model's config.

    Raises:
        Unsuitable: Its heads cannot be divided evenly, or a package is missing.
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

    Args:
        device: The device over which the numbers are exchanged.
        *numbers: Lists of whole numbers, such as token ids and positions.

    Raises:
        ProcessesDiverged: The processes pass different numbers.
    """
    if process_count() == 1:
        return
    own = hash(tuple(tuple(each) for each in numbers))  # the same in every process for integers
    if len(set(_gather(device, own))) > 1:
        raise ProcessesDiverged(
            f"The {process_count()} processes of this run no longer decode the same text because "
            "their rounding differs, so it was ended. Run it on devices of one kind."
        )


def any_process(device: torch.device, stop: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that returns True in all processes once `stop` does in one of them."""
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
    """Return the 64-bit integer of each process, in order."""
    import torch
    from torch import distributed

    mine = torch.tensor([own], dtype=torch.long, device=device)
    found = [torch.empty_like(mine) for _ in range(process_count())]
    distributed.all_gather(found, mine)
    numbers: list[int] = torch.cat(found).tolist()
    return numbers
