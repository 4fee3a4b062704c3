"""The parts of a Llama's decoder layer in NumPy: float32, on a CPU, with a network's own weights.

For the few rows of a decoding step, a small layer spends most of its time on starting operations:
torch takes 9 µs for a norm of 256 numbers and 13 for one row of attention, NumPy about 2 and 11
(one thread of an AMD EPYC), and a layer has about thirty such operations. Matrices are multiplied
in the way that is fastest for their shape (`products`): queries, keys and values in one product,
gate and up in another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, Self

import numpy as np
import torch
from torch import Tensor

from specviz.models.products import Array, Product

EXTRA: Final = 64  # spare rows that are allocated each time a cache grows
BLOCK: Final = 128  # rows of a prompt that are read at once, and positions of a new rotary table

Positions = np.ndarray[Any, np.dtype[np.int64]]
Rotation = tuple[Array, Array]  # cosines and signed sines, (rows, 1, 2, head size / 2) each


class NumpyCache:
    """One run's keys and values, (layers, 2, heads, capacity, head size), kept rows first."""

    def __init__(self, layers: int, heads: int, size: int) -> None:
        self.block = torch.empty(layers, 2, heads, 0, size)
        self.rows: Array = self.block.numpy()
        self.lengths = [0] * layers

    def append(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        """Append rows to a layer and return all its keys and values.

        Returns all keys and all values, (heads, n, head size) each, as views of the block.

        Args:
            layer: The layer, counted from 0.
            keys: New keys, (rows, heads, head size).
            values: New values, of the same shape.
        """
        first = self.lengths[layer]
        last = first + len(keys)
        if last > self.rows.shape[3]:
            self._grow(last)
        kept = self.rows[layer]
        kept[0, :, first:last] = keys.swapaxes(0, 1)
        kept[1, :, first:last] = values.swapaxes(0, 1)
        self.lengths[layer] = last
        return kept[0, :, :last], kept[1, :, :last]

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Keep the first `first` rows of every layer, followed by later `rows`, ascending."""
        last = first + len(rows)
        if list(rows) != list(range(first, last)):
            self.rows[:, :, :, first:last] = self.rows[:, :, :, list(rows)]
        self.cut(last)

    def cut(self, rows: int) -> None:
        """Keep the first `rows` rows in every layer."""
        self.lengths = [min(rows, length) for length in self.lengths]

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Copy a layer's last keys and values: (rows, heads, size); layers are counted from 1."""
        last = self.lengths[layer - 1]
        keys, values = self.block[layer - 1, :, :, last - rows : last].transpose(1, 2).clone()
        return keys, values

    def _grow(self, rows: int) -> None:
        layers, two, heads, capacity, size = self.rows.shape
        block = torch.empty(layers, two, heads, max(rows, capacity * 3 // 2) + EXTRA, size)
        block[:, :, :, :capacity] = self.block
        self.block, self.rows = block, block.numpy()


class RotaryTable:
    """Cosines and signed sines by position, computed once for each position that is used."""

    def __init__(self, size: int, angles: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
        """Create an empty table. angles: computes cosines and sines, (n, d)."""
        self._half, self._angles = size // 2, angles
        self._cosines = self._sines = np.empty((0, 1, 2, self._half), np.float32)

    def at(self, positions: Positions) -> Rotation:
        """Return the rotation of rows at positions (rows,)."""
        most = int(positions.max()) + 1
        if most > len(self._cosines):
            with torch.inference_mode():
                found = self._angles(torch.arange(max(most, 2 * len(self._cosines), BLOCK)))
            cosines, sines = (each.float().numpy() for each in found)
            shape = (len(cosines), 1, 2, self._half)
            self._cosines, self._sines = cosines.reshape(shape), sines.reshape(shape).copy()
            self._sines[:, :, 0] *= -1
        return self._cosines[positions], self._sines[positions]


@dataclass(frozen=True, slots=True)
class NumpyAttention:
    """Grouped-query attention with rotary positions.

    Attributes:
        qkv: Product for queries, keys and values, in this order.
        query_norm: Weight of the norm of each query head, (head size,), or None.
    """

    qkv: Product
    output: Product
    query_norm: Array | None
    key_norm: Array | None
    heads: int
    shared_heads: int
    size: int
    eps: float

    @classmethod
    def of(cls, attention: Any, config: Any, size: int, qkv: Product, output: Product) -> Self:
        """Return the NumPy pass of an attention module with its config, head size and products."""
        query_norm, key_norm = (getattr(attention, name, None) for name in ("q_norm", "k_norm"))
        heads, shared_heads = config.num_attention_heads, config.num_key_value_heads
        norms = weight_of(query_norm), weight_of(key_norm)
        return cls(qkv, output, *norms, heads, shared_heads, size, config.rms_norm_eps)

    def __call__(
        self, rows: Array, turn: Rotation, sees: Array | None, cache: NumpyCache, layer: int
    ) -> Array:
        """Append the rows to the cache and attend to all of it.

        Args:
            rows: (r, width).
            turn: Rotation of the rows.
            sees: Additive attention mask (r, n) over the n cached rows, including the new ones;
                None: no mask.
            cache: Cache to which the rows' keys and values are appended.
            layer: Layer of the cache, counted from 0.

        Returns:
            The output (r, h), in new memory.
        """
        own = self.heads
        projected = self.qkv(rows).reshape(len(rows), -1, self.size)
        turned, values = (
            projected[:, : own + self.shared_heads],
            projected[:, own + self.shared_heads :],
        )
        if self.query_norm is not None and self.key_norm is not None:
            queries = rms_norm(turned[:, :own], self.query_norm, self.eps)
            keys = rms_norm(turned[:, own:], self.key_norm, self.eps)
            turned = np.concatenate([queries, keys], axis=1)
        turned = _rotated(turned, turn)
        keys, values = cache.append(layer, turned[:, own:], values)
        return self.output(self._mixed(turned[:, :own], keys, values, sees))

    def _mixed(self, queries: Array, keys: Array, values: Array, sees: Array | None) -> Array:
        # Values (shared, n, size) weighted for queries (r, heads, size): (r, heads * size).
        rows, shared = len(queries), self.shared_heads
        queries = queries * np.float32(self.size**-0.5)
        queries = queries.reshape(rows, shared, -1, self.size).transpose(1, 2, 0, 3)
        scores = np.matmul(queries.reshape(shared, -1, self.size), keys.swapaxes(1, 2))
        if sees is not None:
            by_row = scores.reshape(shared, -1, rows, scores.shape[-1])
            by_row += sees
        scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed = np.matmul(scores, values)
        mixed /= np.add.reduce(scores, axis=-1, keepdims=True)
        out: Array = mixed.reshape(shared, -1, rows, self.size).transpose(2, 0, 1, 3)
        return out.reshape(rows, -1)


@dataclass(frozen=True, slots=True)
class NumpyMlp:
    """Llama's gated MLP. gate_up: product for gate and up, in this order."""

    gate_up: Product
    down: Product

    def __call__(self, rows: Array) -> Array:
        """Apply the MLP: (r, h) to (r, h), in new memory."""
        return self.down(_gated(self.gate_up(rows)))


def weight_of(norm: Any) -> Any:
    """Return a norm's weight as a NumPy array that shares its memory; None for None."""
    return None if norm is None else norm.weight.detach().numpy()


def rms_norm(rows: Array, weight: Array, eps: float) -> Array:
    """Root-mean-square norm over the last dimension, in new memory."""
    normed: Array
    if len(rows) == 1 and rows.ndim == 2:  # a pass over one row: fewer steps
        mean = float(rows[0].dot(rows[0])) / rows.shape[-1]
        normed = rows * np.float32(1.0 / sqrt(mean + eps))
        normed *= weight
        return normed
    squares: Array = np.einsum("...i,...i->...", rows, rows)
    squares /= rows.shape[-1]
    squares += eps
    np.sqrt(squares, out=squares)
    normed = rows / squares[..., None]
    normed *= weight
    return normed


def causal_mask(rows: int, past: int) -> Array:
    """Return an additive mask (rows, past + rows): new rows attend to all rows up to their own."""
    mask = np.zeros((rows, past + rows), np.float32)
    mask[:, past:][np.triu_indices(rows, 1)] = np.finfo(np.float32).min
    return mask


def _rotated(rows: Array, turn: Rotation) -> Array:
    # (r, heads, size); a pair has one element of each half of a row.
    cosines, sines = turn
    halves = rows.reshape(*rows.shape[:2], 2, -1)
    turned: Array = halves[:, :, ::-1] * sines
    turned += halves * cosines
    return turned.reshape(rows.shape)


def _gated(gate_up: Array) -> Array:
    # SiLU of the first half times the second: (r, 2 n) to (r, n).
    inner = gate_up.shape[-1] // 2
    gate = gate_up[:, :inner]
    out: Array = np.negative(gate)
    np.exp(out, out=out)
    out += np.float32(1.0)
    np.divide(gate, out, out=out)
    out *= gate_up[:, inner:]
    return out
