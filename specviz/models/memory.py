"""Measure the memory that a drafter uses, and keep a limited number of models loaded.

To measure, all references are followed that Python's garbage collector knows. This finds the
weights, packed copies and caches of any drafter, without code in the drafter. Only tensors are
counted, and a tensor is not counted if only classes or modules refer to it.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from types import FunctionType, ModuleType
from typing import Final, Generic, TypeVar

import torch
from torch import Tensor

from specviz.adapters.torch import packed_block


def unique_bytes(things: Iterable[object], excluding: Iterable[object]) -> int:
    """Return the bytes of blocks of memory reachable from `things` but not from `excluding`."""
    seen: set[int] = set()
    others = _blocks(_tensors(excluding, seen))
    reachable = _blocks(_tensors(things, seen))
    return sum(size for address, size in reachable.items() if address not in others)


def packed_bytes(things: Iterable[object], excluding: Iterable[object]) -> int:
    """Return how many of the `unique_bytes` are copies of matrices, packed for faster products."""
    seen: set[int] = set()
    others = _blocks(_tensors(excluding, seen))
    packed = _blocks(each for each in _tensors(things, seen) if each.is_mkldnn)
    return sum(size for address, size in packed.items() if address not in others)


def _tensors(things: Iterable[object], seen: set[int]) -> Iterator[Tensor]:
    # seen: ids of the objects already visited; updated.
    left = list(things)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType) or not gc.is_tracked(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            # Of a tensor that is split over processes, this process holds one part.
            yield thing.to_local() if hasattr(thing, "to_local") else thing
        elif isinstance(thing, FunctionType):
            left += thing.__closure__ or ()  # not the globals, which refer to everything
        else:
            left += gc.get_referents(thing)


def _blocks(tensors: Iterable[Tensor]) -> dict[int, int]:
    # Bytes by address.
    found: dict[int, int] = {}
    for tensor in tensors:
        if tensor.is_mkldnn:
            address, size = packed_block(tensor)
            found[address] = size
        elif tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        else:  # sparse: such a tensor consists of other tensors
            found |= _blocks(_tensors([tensor.__reduce_ex__(2)], set()))
    return found


CAPACITY: Final = 2  # how many models are kept that do not ship with the app


Key = tuple[str, ...]  # folder, device, dtype, and anything else that distinguishes copies


T = TypeVar("T")


class ModelCache(Generic[T]):
    """A thread-safe cache of checkpoints or heads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._shipped: dict[Key, T] = {}
        self._others: OrderedDict[Key, T] = OrderedDict()
        self._versions: dict[Key, str] = {}
        self._lock = Lock()  # held only briefly
        self._loading = Lock()  # held during a load, so that no weights are read twice

    def get(self, key: Key, load: Callable[[], T], shipped: bool, version: str = "") -> T:
        """Return the entry under `key`, loading it if it is missing or of another version.

        Args:
            key: Identifies the copy of the model.
            load: Loads the entry. Other threads can use the cache meanwhile. Exceptions are passed
                on.
            shipped: Whether the model ships with the app and is therefore never evicted.
            version: Identifies the contents of its files.
        """
        if found := self._find(key, version):
            return found
        with self._loading:
            if found := self._find(key, version):
                return found
            self._drop(key)
            if not shipped:
                self._evict()
            loaded = load()
            with self._lock:
                self._versions[key] = version
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

    def _find(self, key: Key, version: str) -> T | None:
        with self._lock:
            if self._versions.get(key) != version:
                return None
            if key in self._others:
                self._others.move_to_end(key)
            return self._shipped.get(key) or self._others.get(key)

    def _drop(self, key: Key) -> None:
        with self._lock:
            self._shipped.pop(key, None)
            self._others.pop(key, None)

    def _evict(self) -> None:
        with self._lock:
            full = len(self._others) >= self._capacity
            while len(self._others) >= self._capacity:
                self._others.popitem(last=False)
        if full:
            gc.collect()  # on CUDA, a network and its memory refer to each other
