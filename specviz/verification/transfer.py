"""What crosses between the host and the device that a model runs on.

Rule: few crossings. A read makes the host wait until the device has done all that it was asked, so
what is needed at the same time is read at once; an upload need not be waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

ALIGNMENT: Final = 16  # bytes: where a tensor begins among others that travel with it
ROW_ALIGNMENT: Final = 8  # numbers: a mask whose rows begin elsewhere is copied by attention in every layer


def upload(numbers: Sequence[Any], device: torch.device) -> Tensor:
    """Whole numbers, or lists of them of one length, as a tensor there; nobody waits for it."""
    return to_device(torch.tensor(numbers, dtype=torch.long), device)


def to_device(made: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host there. CUDA copies small ones aside at once, so nobody waits."""
    return made.to(device, non_blocking=device.type == "cuda")


def upload_together(device: torch.device, *made: Tensor) -> list[Tensor]:
    """Tensors of the host there, sent at once: their bytes stand side by side.

    Rows of a float mask begin at multiples of ROW there, though none is longer than it was.
    """
    if device.type != "cuda":
        return [to_device(each, device) for each in made]
    wide = [_in_rows(each) if each.is_floating_point() else each for each in made]
    rooms = [-(-each.nbytes // ALIGNMENT) * ALIGNMENT for each in wide]
    parcel = torch.zeros(sum(rooms), dtype=torch.uint8)
    for part, each in zip(parcel.split(rooms), wide, strict=True):
        part[: each.nbytes] = each.reshape(-1).view(torch.uint8)
    parts = zip(to_device(parcel, device).split(rooms), wide, strict=True)
    there = [part[: each.nbytes].view(each.dtype).view(each.shape) for part, each in parts]
    return [each[..., : own.shape[-1]] for each, own in zip(there, made, strict=True)]


class UploadBatch:
    """Tensors of the host that go to a device together, once the first of them is asked for."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._made: list[Tensor] = []
        self._there: list[Tensor] = []

    def put(self, made: Tensor) -> Callable[[], Tensor]:
        """Put one in that is not sent yet. What comes back says where it is there."""
        assert not self._there, "it is under way"
        self._made.append(made)
        place = len(self._made) - 1
        return lambda: self._sent()[place]

    def _sent(self) -> list[Tensor]:
        self._there = self._there or upload_together(self._device, *self._made)
        return self._there


def _in_rows(mask: Tensor) -> Tensor:
    """Room behind the last dimension, up to a multiple of ROW."""
    return torch.nn.functional.pad(mask, (0, -mask.shape[-1] % ROW_ALIGNMENT))


def to_host_async(tensor: Tensor) -> Tensor:
    """A copy on the host that nobody waits for: it is there once anything asked later was read."""
    return tensor.to("cpu", non_blocking=tensor.device.type == "cuda")


def to_host(*tensors: Tensor) -> list[Tensor]:
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
