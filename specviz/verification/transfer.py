"""Transfers of tensors between the host and a model's device.

Copying to the host waits until the device has finished all earlier work, so values that are needed
together are copied in one transfer. Uploads do not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
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
    """Upload several host tensors in one transfer; a float mask's rows are aligned."""
    if device.type != "cuda":
        return [to_device(each, device) for each in tensors]
    return _unpack(to_device(_pack(tensors), device), tensors)


class UploadBatch:
    """What planned passes need from outside, at hand when the first of them runs.

    Host tensors are uploaded together. What is recorded as a CUDA graph reads everything from fixed
    addresses (`packed` and `attach`), where the values of its next use are written.

    Attributes:
        longest: The most rows of a pass, with padding, in fixed memory.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tensors: list[Tensor] = []
        self._uploaded: list[Tensor] = []
        self.states: list[tuple[Tensor, int]] = []
        self.longest = 0
        self._attached: Sequence[Tensor] = ()

    def put(self, tensor: Tensor) -> Callable[[], Tensor]:
        """Add a host tensor; return a function that returns the uploaded tensor."""
        assert not self._uploaded, "the batch has already been uploaded"
        self._tensors.append(tensor)
        index = len(self._tensors) - 1
        return lambda: self._upload()[index]

    def put_states(self, states: Tensor, rows: int) -> Callable[[], Tensor]:
        """Add rows (n, …) that are on the device; return a function to `rows` rows that end so."""
        self.states.append((states, rows))
        self.longest = max(self.longest, rows)
        index, missing = len(self.states) - 1, rows - len(states)

        def padded() -> Tensor:
            if self._attached:
                return self._attached[index]
            return (
                torch.cat([states[:1].expand(missing, *states.shape[1:]), states])
                if missing
                else states
            )

        return padded

    def packed(self) -> Tensor:
        """Return all host tensors as bytes."""
        return _pack(self._tensors)

    def attach(self, buffer: Tensor, *states: Tensor) -> None:
        """Read from these tensors on the device: the bytes of `packed`, and the states."""
        self._uploaded, self._attached = _unpack(buffer, self._tensors), states

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shapes and precisions of everything in the batch, after padding."""
        own = [(each.dtype, *each.shape) for each in self._tensors]
        return (*own, *((each.dtype, rows, *each.shape[1:]) for each, rows in self.states))

    def _upload(self) -> list[Tensor]:
        self._uploaded = self._uploaded or upload_together(self._device, *self._tensors)
        return self._uploaded


def _pack(tensors: Sequence[Tensor]) -> Tensor:
    # Each from a multiple of ALIGNMENT on.
    sizes = [_bytes(each) for each in tensors]
    buffer = torch.zeros(sum(sizes), dtype=torch.uint8)
    for piece, each in zip(buffer.split(sizes), tensors, strict=True):
        missing = _row_length(each) - each.shape[-1]
        rows = torch.nn.functional.pad(each, (0, missing)) if missing else each
        piece[: rows.nbytes] = rows.reshape(-1).view(torch.uint8)
    return buffer


def _unpack(buffer: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    # Views of a copy of the bytes.
    found = []
    for piece, each in zip(buffer.split([_bytes(each) for each in tensors]), tensors, strict=True):
        *rows, size = each.shape
        whole = piece.view(each.dtype)[: prod(rows) * _row_length(each)]
        found.append(whole.view(*rows, _row_length(each))[..., :size])
    return found


def _row_length(tensor: Tensor) -> int:
    # Rows of a float mask are padded.
    size = tensor.shape[-1]
    return -(-size // ROW_ALIGNMENT) * ROW_ALIGNMENT if tensor.is_floating_point() else size


def _bytes(tensor: Tensor) -> int:
    size = prod(tensor.shape[:-1]) * _row_length(tensor) * tensor.itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT


def to_host_async(tensor: Tensor) -> Tensor:
    """Start a copy to the host without waiting; it is complete after any later `to_host`."""
    return tensor.to("cpu", non_blocking=tensor.device.type == "cuda")


def to_host(*tensors: Tensor) -> list[Tensor]:
    """Copy tensors of a device to the host in one transfer, as float64, which is exact."""
    if tensors[0].device.type != "cuda":
        return [each.cpu() for each in tensors]
    return read_joined(joined(tensors), tensors)


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """Return all numbers of some tensors on CUDA as one tensor, which `read_joined` copies."""
    return torch.cat([each.reshape(-1).double() for each in tensors])


def read_joined(numbers: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy the result of `joined` to the host, in the shapes and precisions of the tensors."""
    pieces = numbers.cpu().split([each.numel() for each in tensors])
    pairs = zip(pieces, tensors, strict=True)
    return [piece.to(each.dtype).reshape(each.shape) for piece, each in pairs]
