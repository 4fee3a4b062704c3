"""A cache of keys and values with room behind its rows, for passes that are often taken back.

Rule: rows are written in place behind those that are kept, so that a pass of few rows does not copy
all the rows before them, as transformers' own growing cache does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from specviz.verification.crossing import upload

ROOM: Final = 64  # rows more than asked for, each time that room is made


class RoomyLayer(DynamicLayer):
    """One layer's rows. keys, values: (1, heads, rows, head size), views of the front of `room`.

    To cut rows off, assign shorter views of the two. What is cut off is written over by the next
    pass: who wants to keep such rows copies them.
    """

    room: tuple[Tensor, Tensor] | None = None  # (1, heads, room, head size) each
    keys: Any
    values: Any

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Put new rows (1, heads, n, head size) behind the others; all of both."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        first = self.get_seq_length()
        last = first + key_states.shape[2]
        if self.room is None or self._elsewhere(self.room[0]) or last > self.room[0].shape[2]:
            self.room = (
                _roomy(self.keys, key_states, first, last),
                _roomy(self.values, value_states, first, last),
            )
        keys, values = self.room
        keys[:, :, first:last] = key_states
        values[:, :, first:last] = value_states
        self.keys, self.values = keys[:, :, :last], values[:, :, :last]
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


class RoomyCache(Cache):
    """As many layers as a model asks for."""

    layers: list[Any]

    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=RoomyLayer)

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


def _roomy(held: Tensor, new: Tensor, first: int, last: int) -> Tensor:
    """Room for the rows held, the new ones and some more, with those held in it."""
    one, heads, _, size = new.shape
    room = new.new_empty(one, heads, last + ROOM, size)
    if first:
        room[:, :, :first] = held
    return room
