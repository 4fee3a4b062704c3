"""Keeps what was loaded, so that all visitors share one copy of the weights.

Rule: the house models stay; of all others two (one pair) at most, the least recently used one
leaving before the next is loaded, so that naming many models cannot fill the memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

GUESTS: Final = 2


Key = tuple[str, ...]  # folder, device, dtype and what else makes a copy another one


T = TypeVar("T")


class ModelCache(Generic[T]):
    """Checkpoints or heads by key, safe to use from many threads."""

    def __init__(self, guests: int = GUESTS) -> None:
        self._room = guests
        self._house: dict[Key, T] = {}
        self._guests: OrderedDict[Key, T] = OrderedDict()
        self._shelf = Lock()  # held for an instant
        self._loading = Lock()  # held while weights are read, so that nobody reads them twice

    def get(self, key: Key, load: Callable[[], T], house: bool) -> T:
        """What is under `key`, loaded if it is not there. Raises what `load` raises."""
        if found := self._find(key):
            return found
        with self._loading:
            if found := self._find(key):
                return found
            if not house:
                self._make_room()
            loaded = load()
            with self._shelf:
                (self._house if house else self._guests)[key] = loaded
            return loaded

    def kept(self) -> list[tuple[Key, T]]:
        """What is on the shelf now, the house's first."""
        with self._shelf:
            return [*self._house.items(), *self._guests.items()]

    def drop_newest(self) -> tuple[Key, T] | None:
        """Take away what was used last, unless it is the house's; None where there is nothing."""
        with self._shelf:
            return self._guests.popitem() if self._guests else None

    def _find(self, key: Key) -> T | None:
        with self._shelf:
            if key in self._guests:
                self._guests.move_to_end(key)
            return self._house.get(key) or self._guests.get(key)

    def _make_room(self) -> None:
        with self._shelf:
            while len(self._guests) >= self._room:
                self._guests.popitem(last=False)
