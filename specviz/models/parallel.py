"""One target over several processes, each with a part of every layer: tensor parallelism.

`torchrun --nproc-per-node N -m specviz run …` starts N processes that all decode the same run.
transformers cuts the target up by its own plan, and the parts are added up in every pass; drafts,
laws and judging happen in each process anew.

Rule: the processes may not part ways. Chance is data, so they draw alike; nothing that was timed
decides; and each pass begins by asking whether all of them score the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from specviz.models.errors import Unsuitable

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig

NEEDED: Final = "accelerate"  # transformers asks for it where it cuts a model up


class ProcessesDiverged(ValueError):
    """The processes of one run no longer ask for the same; the message is a sentence."""


def process_count() -> int:
    """How many decode this run together, as torchrun says; usually one."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "LOCAL_RANK" in os.environ else 1


def is_leader() -> bool:
    """Whether this is the process that writes and prints."""
    return process_count() == 1 or os.environ.get("RANK") == "0"


def own_device() -> int:
    """The number of this process's GPU, of those of its machine."""
    return int(os.environ["LOCAL_RANK"]) if process_count() > 1 else 0


def sharding_options(name: str, config: PreTrainedConfig) -> dict[str, Any]:
    """What `from_pretrained` is told so that each process holds its part; nothing for one.

    name: what a sentence calls the model. Raises Unsuitable where its heads cannot be shared out,
    or a package is missing.
    """
    if process_count() == 1:
        return {}
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    if heads % process_count():
        raise Unsuitable(
            f"{name!r} has {heads} heads of keys and values, which {process_count()} processes cannot "
            "share out."
        )
    if find_spec(NEEDED) is None:
        raise Unsuitable(
            f"{name!r} cannot be cut up over {process_count()} processes without the package {NEEDED}: "
            f"pip install {NEEDED}."
        )
    from specviz.adapters.transformers import tensor_parallel_options

    return tensor_parallel_options()


def check_agreement(device: torch.device, *asked: Sequence[int]) -> None:
    """Return once every process asks for these numbers. Raises Apart where one does not."""
    if process_count() == 1:
        return
    own = hash(tuple(tuple(numbers) for numbers in asked))  # of whole numbers, alike everywhere
    if len(set(_gather(device, own))) > 1:
        raise ProcessesDiverged(
            f"The {process_count()} processes of this run no longer decode the same text, so it was "
            "ended: their rounding differs. Run it on devices of one kind."
        )


def any_process(device: torch.device, stop: Callable[[], bool]) -> Callable[[], bool]:
    """The same question, answered yes in every process as soon as one of them would."""
    if process_count() == 1:
        return stop
    return lambda: any(_gather(device, int(stop())))


def shutdown() -> None:
    """Take leave of the other processes at the end of a run.

    Their connection has threads of its own; where the interpreter ends in the midst of them, it is
    aborted now and then, and a run that was whole counts as failed.
    """
    if process_count() == 1:
        return
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def _gather(device: torch.device, own: int) -> list[int]:
    """A whole number of 64 bits from each process, in order."""
    import torch
    from torch import distributed

    mine = torch.tensor([own], dtype=torch.long, device=device)
    found = [torch.empty_like(mine) for _ in range(process_count())]
    distributed.all_gather(found, mine)
    numbers: list[int] = torch.cat(found).tolist()
    return numbers
