"""What crosses between the host and the device that a model runs on.

Rule: few crossings. A read makes the host wait until the device has done all that it was asked, so
what is needed at the same time is read at once; an upload need not be waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def upload(numbers: Sequence[Any], device: torch.device) -> Tensor:
    """Whole numbers, or lists of them of one length, as a tensor there; nobody waits for it."""
    return sent(torch.tensor(numbers, dtype=torch.long), device)


def sent(made: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host there. CUDA copies small ones aside at once, so nobody waits."""
    return made.to(device, non_blocking=device.type == "cuda")


def read(*tensors: Tensor) -> list[Tensor]:
    """Copies on the host of tensors that live side by side, read at once: all from one device.

    They travel as float64, which holds a float32 and a token's id as they are. (MPS has none, so
    there each is read by itself.)
    """
    device = tensors[0].device
    if device.type != "cuda":
        return [each.cpu() for each in tensors]
    flat = torch.cat([each.reshape(-1).double() for each in tensors]).cpu()
    parts = flat.split([each.numel() for each in tensors])
    pairs = zip(parts, tensors, strict=True)
    return [part.to(each.dtype).reshape(each.shape) for part, each in pairs]
