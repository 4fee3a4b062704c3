"""Keep loaded models, so that all users share one copy of the weights.

Models that ship with the app are never evicted. Of all others, the cache holds at most two (a
target and a drafter). The least recently used one is evicted before another is loaded, so requests
for many models cannot fill the memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

CAPACITY: Final = 2  # models that do not ship with the app


Key = tuple[str, ...]  # folder, device, dtype, and anything else that distinguishes copies


T = TypeVar("T")


class ModelCache(Generic[T]):
    """A thread-safe cache of checkpoints or heads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._shipped: dict[Key, T] = {}
        self._others: OrderedDict[Key, T] = OrderedDict()
        self._lock = Lock()  # held briefly
        self._loading = Lock()  # held during a load, so that weights are not read twice

    def get(self, key: Key, load: Callable[[], T], shipped: bool) -> T:
        """Return the entry under `key`, loading it if it is missing.

        Args:
            key: Identifies the copy.
            load: Loads the entry. Other threads can use the cache meanwhile. Its exceptions
                propagate.
            shipped: Whether the model ships with the app and is therefore never evicted.
        """
        if found := self._find(key):
            return found
        with self._loading:
            if found := self._find(key):
                return found
            if not shipped:
                self._evict()
            loaded = load()
            with self._lock:
                (self._shipped if shipped else self._others)[key] = loaded
            return loaded

    def entries(self) -> list[tuple[Key, T]]:
        """Return all entries, models that ship with the app first."""
        with self._lock:
            return [*self._shipped.items(), *self._others.items()]

    def drop_newest(self) -> tuple[Key, T] | None:
        """Remove and return the most recently used model that may be evicted, or None."""
        with self._lock:
            return self._others.popitem() if self._others else None

    def _find(self, key: Key) -> T | None:
        with self._lock:
            if key in self._others:
                self._others.move_to_end(key)
            return self._shipped.get(key) or self._others.get(key)

    def _evict(self) -> None:
        with self._lock:
            while len(self._others) >= self._capacity:
                self._others.popitem(last=False)
