"""Turns the tensors of a GGUF file into float32 numbers, all in one block of memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from gguf import GGML_QUANT_SIZES, dequantize

from specviz.models.gguf_header import GgufFile, TensorInfo

PIECE: Final = 1 << 17  # numbers made at a time: they fit into a processor's cache
ALIGNED: Final = 16  # float32 numbers in a line of a processor's cache


class FloatBlock:
    """One block of memory for all tensors, which the system gives out much faster than many."""

    def __init__(self, tensors: Iterable[TensorInfo]) -> None:
        self._free = np.empty(sum(map(_padded, tensors)) + ALIGNED, np.float32)
        address = self._free.ctypes.data // self._free.itemsize
        self._free = self._free[-address % ALIGNED :]

    def take(self, tensor: TensorInfo) -> Any:
        """An uninitialized array of the tensor's shape."""
        taken, self._free = np.split(self._free, [_padded(tensor)])
        return taken[: tensor.elements].reshape(tensor.shape)


def _padded(tensor: TensorInfo) -> int:
    """How many numbers of the block a tensor takes, so that each begins a line of the cache."""
    return -(-tensor.elements // ALIGNED) * ALIGNED


def dequantize_into(file: GgufFile, tensor: TensorInfo, numbers: Any) -> None:
    """Write a tensor's numbers into an array of its shape, in the order of the file.

    Raises NotImplementedError for a kind of block that cannot be read.
    """
    size, bytes_ = GGML_QUANT_SIZES[tensor.kind]
    stored, flat = file.data(tensor).reshape(-1), numbers.reshape(-1)
    step = PIECE // size
    for first in range(0, tensor.elements // size, step):
        piece = stored[first * bytes_ : (first + step) * bytes_]
        made = dequantize(piece[None], tensor.kind)
        flat[first * size : (first + step) * size] = made.reshape(-1)


def pair_halves(numbers: Any, heads: int) -> None:
    """Order a head's rows as transformers pairs them: first with first of the second half.

    llama.cpp pairs neighbours, so its files have the two halves shuffled into each other.
    """
    pairs = numbers.reshape(heads, -1, 2, *numbers.shape[1:])
    numbers.reshape(heads, 2, -1, *numbers.shape[1:])[:] = pairs.swapaxes(1, 2).copy()
