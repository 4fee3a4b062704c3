"""Keys and values of a head's attention layers in one run.

On CUDA they are in fixed memory, so that a whole draft can be recorded (`recorded`): new rows are
written at positions that are data, rows that differ in number from round to round are padded in
front, and an attention mask hides what is not in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from specviz.drafters.common.layers import Mix, masked
from specviz.models.attention import PreallocatedLayer
from specviz.models.graphs import (
    REACH,
    Memory,
    Pool,
    Recorder,
    ceil_power,
    pad_front,
    padded_rows,
    uses_graphs,
)
from specviz.verification.transfer import UploadBatch

Slots = Tensor | None  # rows of the cache, (n,); None in a cache that appends
HeadShape = tuple[int, int, int]  # attention layers, key heads, head size


class HeadCache:
    """A cache that appends, on any device. memory: fixed memory; None here."""

    memory: Memory | None = None

    def __init__(self, layers: int) -> None:
        self._layers = [PreallocatedLayer() for _ in range(layers)]

    def padded_rows(self, count: int) -> int:
        """Return the number of rows, with padding, of a pass that reads new rows of a text."""
        return count

    def whole_mask(self, last: int, uploads: UploadBatch) -> Callable[[], Tensor | None]:
        """Prepare a mask (1, cached rows) of the first `last` rows; None where no others exist."""
        return lambda: None

    def pad_mask(self, sees: Tensor, rows: int) -> Tensor:
        """Return a mask (n, cached rows), bool, on the host for a pass over `rows` rows."""
        return sees

    def plan(self, first: int, last: int, rows: int, uploads: UploadBatch) -> Callable[[], Slots]:
        """Make room for new rows.

        Args:
            first: Row of the cache of the first of them.
            last: Row after the last of them.
            rows: Number of rows of the pass, with padding.
            uploads: Uploads their rows of the cache, which the returned function returns.
        """
        return lambda: None

    def store(self, layer: int, slots: Slots, keys: Tensor, values: Tensor) -> None:
        """Write new rows of a layer, (1, heads, n, d) each."""
        self._layers[layer].update(keys, values)

    def rows(self, layer: int, reach: int) -> tuple[Tensor, Tensor]:
        """Return keys and values of a layer's rows, (1, heads, rows, d) each."""
        return self._layers[layer].keys, self._layers[layer].values

    def attend(self, layer: int, sees: Tensor | None, queries: Tensor) -> Tensor:
        """Attend from queries (1, heads, n, d) to the layer's rows; `sees`: (n, …), bool."""
        keys, values = self.rows(layer, 0 if sees is None else sees.shape[1])
        seen = None if sees is None else sees[:, : keys.shape[2]]
        return masked(seen)(queries, keys, values)

    def mix(self, layer: int, slots: Slots, sees: Tensor | None) -> Mix:
        """Return a `Mix` that stores the new rows and attends under a mask."""

        def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            self.store(layer, slots, keys, values)
            return self.attend(layer, sees, queries)

        return mixed

    def cut(self, rows: int, layer: int | None = None) -> None:
        """Discard all but the first rows of a layer, or of every layer."""
        for each in self._layers if layer is None else [self._layers[layer]]:
            each.cut(rows)


class FixedHeadCache(HeadCache):
    """A cache in fixed memory."""

    memory: Memory

    def __init__(self, head: nn.Module, shape: HeadShape) -> None:
        if head not in _POOLS:
            _POOLS[head] = Pool(_allocator(next(head.parameters()).detach(), shape))
        self._pool = _POOLS[head]
        self.memory = self._pool.lend(self)

    def padded_rows(self, count: int) -> int:
        """Implement `HeadCache.padded_rows`."""
        return padded_rows(count)

    def whole_mask(self, last: int, uploads: UploadBatch) -> Callable[[], Tensor | None]:
        """Implement `HeadCache.whole_mask`."""
        return uploads.put(self.pad_mask(torch.ones(1, last, dtype=torch.bool), 1))

    def pad_mask(self, sees: Tensor, rows: int) -> Tensor:
        """Implement `HeadCache.pad_mask`; padding attends to everything."""
        reach = max(REACH, ceil_power(sees.shape[1]))
        wide = torch.nn.functional.pad(sees, (0, reach - sees.shape[1]))
        return pad_front(wide, rows, True)

    def plan(self, first: int, last: int, rows: int, uploads: UploadBatch) -> Callable[[], Slots]:
        """Implement `HeadCache.plan`."""
        if last > self.memory.reach:
            self.memory = self._pool.grow(self, self.memory, last)
        slots = uploads.put(pad_front(torch.arange(first, last), rows, -1))
        return lambda: torch.where(slots() < 0, self.memory.reach, slots())

    def store(self, layer: int, slots: Slots, keys: Tensor, values: Tensor) -> None:
        """Implement `HeadCache.store`."""
        assert slots is not None
        self.memory.keys[layer].index_copy_(1, slots, keys[0])
        self.memory.values[layer].index_copy_(1, slots, values[0])

    def rows(self, layer: int, reach: int) -> tuple[Tensor, Tensor]:
        """Implement `HeadCache.rows`."""
        keys, values = self.memory.keys[layer, None], self.memory.values[layer, None]
        return keys[:, :, :reach], values[:, :, :reach]

    def cut(self, rows: int, layer: int | None = None) -> None:
        """Implement `HeadCache.cut`: the masks of later rows hide those that were discarded."""


class TransformersRows:
    """A layer of a `HeadCache` in the form that a layer of transformers expects."""

    def __init__(self, cache: HeadCache, layer: int, slots: Slots, reach: int) -> None:
        self._cache, self._layer, self._slots, self._reach = cache, layer, slots, reach

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Store new rows, and return all."""
        self._cache.store(self._layer, self._slots, keys, values)
        return self._cache.rows(self._layer, self._reach)


_POOLS: WeakKeyDictionary[nn.Module, Pool[FixedHeadCache]] = WeakKeyDictionary()


def _allocator(weight: Tensor, shape: HeadShape) -> Callable[[int], Memory]:
    layers, heads, size = shape
    recorder = Recorder()

    def allocate(reach: int) -> Memory:
        keys = weight.new_zeros(layers, heads, reach + 1, size)
        return Memory(keys, torch.zeros_like(keys), recorder)

    return allocate


def head_cache(head: nn.Module, shapes: Sequence[tuple[int, int]]) -> HeadCache:
    """Return an empty cache for one run of a head.

    Args:
        head: The head, all of whose runs share memory and recordings.
        shapes: For each attention layer, its number of key heads and their size. If there is no
            attention, the memory has only recordings.
    """
    if uses_graphs(next(head.parameters()).device) and len(set(shapes)) <= 1:
        return FixedHeadCache(head, (len(shapes), *(shapes[0] if shapes else (0, 0))))
    return HeadCache(len(shapes))
