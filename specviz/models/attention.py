"""The key-value cache, with preallocated memory, and the attention masks of new rows.

Passes are often rolled back. New rows are written in place after the existing ones, so a pass over
a few rows does not copy all previous rows, as transformers' growing cache does.

In every layer, the cache has the rows of all tokens. A sliding window is implemented by the mask
alone: in a layer with a window, a new row attends only to the newest of the rows before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from specviz.adapters.transformers import (
    CacheLayer,
    LayeredCache,
    Windows,
    passes_masks_on,
    sliding_windows,
)
from specviz.verification.transfer import upload

SPARE_ROWS: Final = 64  # how many spare rows are added each time the buffer grows


class PreallocatedLayer(CacheLayer):
    """Cached keys and values of one layer.

    To remove the last rows, assign shorter views to `keys` and `values`. The next pass overwrites
    the removed rows, so copy them first if they are still needed.

    Attributes:
        keys: (1, heads, rows, head size), a view of the front of the buffer.
        values: The same for values.
        buffer: The memory for keys and for values, (1, heads, capacity, head size) each.
    """

    buffer: tuple[Tensor, Tensor] | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Implement `CacheLayer.append`: write the rows in place after the existing ones."""
        first = self.get_seq_length()
        last = first + keys.shape[2]
        if (
            self.buffer is None
            or self._is_replaced(self.buffer[0])
            or last > self.buffer[0].shape[2]
        ):
            self.buffer = (
                _allocate(self.keys, keys, first, last),
                _allocate(self.values, values, first, last),
            )
        key_buffer, value_buffer = self.buffer
        key_buffer[:, :, first:last] = keys
        value_buffer[:, :, first:last] = values
        self.keys, self.values = key_buffer[:, :, :last], value_buffer[:, :, :last]
        return self.keys, self.values

    def keep(self, first: int, rows: Tensor) -> None:
        """Keep the `first` rows, followed by later `rows`, (n,), ascending."""
        last = first + len(rows)
        for cached in (self.keys, self.values):
            cached[:, :, first:last] = cached[:, :, rows]
        self.cut(last)

    def cut(self, rows: int) -> None:
        """Keep only the first `rows` rows."""
        if self.is_initialized:
            self.keys, self.values = self.keys[:, :, :rows], self.values[:, :, :rows]

    def _is_replaced(self, buffer: Tensor) -> bool:
        # Whether the keys no longer alias the preallocated buffer.
        return bool(self.keys.data_ptr() != buffer.data_ptr())


class PreallocatedCache(LayeredCache):
    """A cache with one `PreallocatedLayer` for each layer of a model."""

    def __init__(self) -> None:
        super().__init__(PreallocatedLayer)

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Implement `KeyValueCache.keep`."""
        if list(rows) == list(range(first, first + len(rows))):
            self.cut(first + len(rows))
        elif self.layers:
            index = upload(rows, self.layers[0].keys.device)
            for layer in self.layers:
                layer.keep(first, index)

    def cut(self, rows: int) -> None:
        """Implement `KeyValueCache.cut`."""
        for layer in self.layers:
            layer.cut(rows)

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Implement `KeyValueCache.newest`."""
        cached = self.layers[layer - 1]
        return _row_first(cached.keys, rows), _row_first(cached.values, rows)


def _row_first(cached: Tensor, rows: int) -> Tensor:
    # The newest `rows` of (1, heads, r, size) as (rows, heads, size).
    return cached[0, :, -rows:].transpose(0, 1).clone()


def _allocate(old_rows: Tensor, new: Tensor, first: int, last: int) -> Tensor:
    # old_rows: (1, heads, first, size); new: for shape and dtype; last: number of all rows.
    one, heads, _, size = new.shape
    buffer = new.new_empty(one, heads, last + SPARE_ROWS, size)
    if first:
        buffer[:, :, :first] = old_rows
    return buffer


@dataclass(frozen=True, slots=True)
class LayerMasks:
    """Builds the masks of a pass, one for each kind of layer; windows: which have a window."""

    windows: Windows | None = None

    def split(self, full: Tensor | None) -> list[Tensor]:
        """Return the masks of a pass, on the host.

        Returns the mask of each kind of layer; empty if `full` is None. full: additive mask, (1, 1,
        r, rows). Every row must attend to exactly one row for each position up to its own, in
        ascending order. None: transformers builds the masks.
        """
        if full is None or self.windows is None:
            return [] if full is None else [full]
        if full.shape[-1] <= self.windows.rows:
            return [full]
        sliding = windowed_mask(full, self.windows.rows)
        return [full, sliding] if self.windows.by_kind else [sliding]

    def argument(self, masks: Sequence[Tensor]) -> Any:
        """Return the value for the argument `attention_mask` of the model's forward."""
        if not masks:
            return None
        return self.windows.argument(masks[0], masks[-1]) if self.windows else masks[0]

    def of(self, layer: int, masks: Sequence[Tensor]) -> Tensor:
        """Return the mask of one layer; layers are counted from 0."""
        slides = self.windows is not None and self.windows.sliding[layer]
        return masks[-1] if slides else masks[0]


_MASKS: WeakKeyDictionary[Any, LayerMasks] = WeakKeyDictionary()


def layer_masks(model: Any) -> LayerMasks:
    """Return what builds the masks of a causal LM; first it runs a pass over two tokens."""
    if model not in _MASKS:
        windows = sliding_windows(model.config)
        _MASKS[model] = LayerMasks(windows if windows and passes_masks_on(model, windows) else None)
    return _MASKS[model]


def context_length(model: Any) -> int | None:
    """Return a causal LM's context in tokens, limited by `hard_window`; None if unlimited."""
    text = model.config.get_text_config(decoder=True)
    limits = [getattr(text, name, None) for name in ("max_position_embeddings", "n_positions")]
    limits.append(hard_window(model))
    return min((limit for limit in limits if limit), default=None)


def hard_window(model: Any) -> int | None:
    """Return the sliding window, and so the longest text, if a mask cannot do it; or None."""
    windows = sliding_windows(model.config)
    return windows.rows if windows and layer_masks(model).windows is None else None


def windowed_mask(full: Tensor, rows: int) -> Tensor:
    """Restrict a mask (1, 1, r, n): each row attends only to the newest `rows` of its rows."""
    sees = full == 0
    age = sees.flip(-1).cumsum(-1).flip(-1)  # 1 for the newest row that is attended to
    return full.masked_fill(sees & (age > rows), torch.finfo(full.dtype).min)
