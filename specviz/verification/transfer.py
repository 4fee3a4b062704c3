"""Transfers of tensors between the host and a model's device.

Copying to the host waits until the device has finished all earlier work, so values that are needed
together are copied in one transfer. Uploads do not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

ALIGNMENT: Final = 16  # in bytes; each tensor of an upload starts at a multiple
ROW_ALIGNMENT: Final = 8  # in elements; attention copies masks whose rows are unaligned


def upload(values: Sequence[Any], device: torch.device) -> Tensor:
    """Upload whole numbers, or equally long lists of them, as a tensor without waiting."""
    return to_device(torch.tensor(values, dtype=torch.long), device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Upload a host tensor without waiting; CUDA copies small tensors to a buffer immediately."""
    return tensor.to(device, non_blocking=device.type == "cuda")


def upload_together(device: torch.device, *tensors: Tensor) -> list[Tensor]:
    """Upload several host tensors in one transfer.

    On CUDA, rows of a float mask start at multiples of ROW_ALIGNMENT in memory; shapes are
    unchanged.
    """
    if device.type != "cuda":
        return [to_device(each, device) for each in tensors]
    padded = [_pad_rows(each) if each.is_floating_point() else each for each in tensors]
    sizes = [-(-each.nbytes // ALIGNMENT) * ALIGNMENT for each in padded]
    buffer = torch.zeros(sum(sizes), dtype=torch.uint8)
    for piece, each in zip(buffer.split(sizes), padded, strict=True):
        piece[: each.nbytes] = each.reshape(-1).view(torch.uint8)
    pieces = zip(to_device(buffer, device).split(sizes), padded, strict=True)
    uploaded = [piece[: each.nbytes].view(each.dtype).view(each.shape) for piece, each in pieces]
    return [each[..., : own.shape[-1]] for each, own in zip(uploaded, tensors, strict=True)]


class UploadBatch:
    """Host tensors that are uploaded together when the first of them is needed."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tensors: list[Tensor] = []
        self._uploaded: list[Tensor] = []

    def put(self, tensor: Tensor) -> Callable[[], Tensor]:
        """Add a tensor; return a function that returns the uploaded tensor."""
        assert not self._uploaded, "the batch has already been uploaded"
        self._tensors.append(tensor)
        index = len(self._tensors) - 1
        return lambda: self._upload()[index]

    def _upload(self) -> list[Tensor]:
        self._uploaded = self._uploaded or upload_together(self._device, *self._tensors)
        return self._uploaded


def _pad_rows(mask: Tensor) -> Tensor:
    """Pad the last dimension to a multiple of ROW_ALIGNMENT."""
    return torch.nn.functional.pad(mask, (0, -mask.shape[-1] % ROW_ALIGNMENT))


def to_host_async(tensor: Tensor) -> Tensor:
    """Start a copy to the host without waiting; it is complete after any later `to_host`."""
    return tensor.to("cpu", non_blocking=tensor.device.type == "cuda")


def to_host(*tensors: Tensor) -> list[Tensor]:
    """Copy tensors of one device to the host in one transfer.

    On CUDA they are sent as float64, which represents float32 values and token ids exactly. On MPS,
    which has no float64, each is copied separately.
    """
    device = tensors[0].device
    if device.type != "cuda":
        return [each.cpu() for each in tensors]
    flat = torch.cat([each.reshape(-1).double() for each in tensors]).cpu()
    pieces = flat.split([each.numel() for each in tensors])
    pairs = zip(pieces, tensors, strict=True)
    return [piece.to(each.dtype).reshape(each.shape) for piece, each in pairs]
