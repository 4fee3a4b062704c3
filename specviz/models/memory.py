"""Measure the memory of tensors that some objects refer to and other objects do not.

All references are followed, as Python's garbage collector sees them. This finds the weights, packed
copies and caches of any drafter without its help. Only tensors are counted, and not those that only
classes or modules refer to.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType

import torch
from torch import Tensor

from specviz.adapters.torch import packed_block


def unique_bytes(things: Iterable[object], excluding: Iterable[object]) -> int:
    """Return the bytes of tensors reachable from `things` but not from `excluding`.

    Each block of memory is counted once and completely: views do not count again, and the unused
    part of a preallocated cache does count.
    """
    seen: set[int] = set()
    others = _blocks(_tensors(excluding, seen))
    reachable = _blocks(_tensors(things, seen))
    return sum(size for address, size in reachable.items() if address not in others)


def _tensors(things: Iterable[object], seen: set[int]) -> Iterator[Tensor]:
    """Yield all tensors reachable from `things`.

    Args:
        things: Objects to start from.
        seen: Ids of the objects already visited; updated.
    """
    left = list(things)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType) or not gc.is_tracked(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            # Of a tensor that is split over processes, this process has one part.
            yield thing.to_local() if hasattr(thing, "to_local") else thing
        elif isinstance(thing, FunctionType):
            left += thing.__closure__ or ()  # not its globals, which refer to everything
        else:
            left += gc.get_referents(thing)


def _blocks(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Return the size in bytes of each block of memory, by address."""
    found: dict[int, int] = {}
    for tensor in tensors:
        if tensor.is_mkldnn:
            address, size = packed_block(tensor)
            found[address] = size
        elif tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        else:  # sparse: it consists of other tensors
            found |= _blocks(_tensors([tensor.__reduce_ex__(2)], set()))
    return found
