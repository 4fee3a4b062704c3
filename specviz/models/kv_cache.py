"""A cache of keys and values with room behind its rows, for passes that are often taken back.

Rule: rows are written in place behind those that are kept, so that a pass of few rows does not copy
all the rows before them, as transformers' own growing cache does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from torch import Tensor

from specviz.adapters.transformers import CacheLayer, LayeredCache
from specviz.verification.transfer import upload

ROOM: Final = 64  # rows more than asked for, each time that room is made


class PreallocatedLayer(CacheLayer):
    """One layer's rows. keys, values: (1, heads, rows, head size), views of the front of `room`.

    To cut rows off, assign shorter views of the two. What is cut off is written over by the next
    pass: who wants to keep such rows copies them.
    """

    room: tuple[Tensor, Tensor] | None = None  # (1, heads, room, head size) each

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """See `CacheLayer`. Rows are written in place behind the others."""
        first = self.get_seq_length()
        last = first + keys.shape[2]
        if self.room is None or self._elsewhere(self.room[0]) or last > self.room[0].shape[2]:
            self.room = (
                _roomy(self.keys, keys, first, last),
                _roomy(self.values, values, first, last),
            )
        room_of_keys, room_of_values = self.room
        room_of_keys[:, :, first:last] = keys
        room_of_values[:, :, first:last] = values
        self.keys, self.values = room_of_keys[:, :, :last], room_of_values[:, :, :last]
        return self.keys, self.values

    def keep(self, first: int, rows: Tensor) -> None:
        """Leave the first rows and behind them `rows`, (n,) numbers from `first` on, rising."""
        last = first + len(rows)
        for held in (self.keys, self.values):
            held[:, :, first:last] = held[:, :, rows]
        self.cut(last)

    def cut(self, rows: int) -> None:
        """Leave the first so many rows."""
        if self.is_initialized:
            self.keys, self.values = self.keys[:, :, :rows], self.values[:, :, :rows]

    def _elsewhere(self, room: Tensor) -> bool:
        """Whether the rows are no view of the room: somebody has put others in their place."""
        return bool(self.keys.data_ptr() != room.data_ptr())


class PreallocatedCache(LayeredCache):
    """As many layers as a model asks for."""

    def __init__(self) -> None:
        super().__init__(PreallocatedLayer)

    def keep(self, first: int, rows: Sequence[int]) -> None:
        """Leave in every layer the first rows and, behind them, `rows`: rising, from `first` on."""
        if list(rows) == list(range(first, first + len(rows))):
            self.cut(first + len(rows))
        elif self.layers:
            index = upload(rows, self.layers[0].keys.device)
            for layer in self.layers:
                layer.keep(first, index)

    def cut(self, rows: int) -> None:
        """Leave in every layer the first so many rows."""
        for layer in self.layers:
            layer.cut(rows)

    def newest(self, layer: int, rows: int) -> tuple[Tensor, Tensor]:
        """Copies of the newest keys and values of a layer, from 1: (rows, heads, size) each."""
        kept = self.layers[layer - 1]
        return _row_first(kept.keys, rows), _row_first(kept.values, rows)


def _row_first(cached: Tensor, rows: int) -> Tensor:
    """The newest `rows` of (1, heads, r, size) as (rows, heads, size)."""
    return cached[0, :, -rows:].transpose(0, 1).clone()


def _roomy(held: Tensor, new: Tensor, first: int, last: int) -> Tensor:
    """Room for the rows held, the new ones and some more, with those held in it."""
    one, heads, _, size = new.shape
    room = new.new_empty(one, heads, last + ROOM, size)
    if first:
        room[:, :, :first] = held
    return room
