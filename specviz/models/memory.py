"""Count the bytes that some objects keep in memory and others do not, from their tensors.

Nothing is computed from shapes, and objects declare nothing. All references are followed, as
Python's garbage collector sees them, so that weights, packed copies and caches of any drafter are
found. Objects that are not tensors, and those that belong to classes or modules, are not counted.
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

    A block of memory counts once however many tensors view it, and completely, including the unused
    part of a preallocated cache.
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
            # A tensor that is split over processes has only its own part here.
            yield thing.to_local() if hasattr(thing, "to_local") else thing
        elif isinstance(thing, FunctionType):
            left += thing.__closure__ or ()  # not its globals, which refer to everything
        else:
            left += gc.get_referents(thing)


def _blocks(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Return by address how many bytes are allocated there."""
    found: dict[int, int] = {}
    for tensor in tensors:
        if tensor.is_mkldnn:
            address, size = packed_block(tensor)
            found[address] = size
        elif tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        else:  # sparse: its memory is that of the tensors it is made of
            found |= _blocks(_tensors([tensor.__reduce_ex__(2)], set()))
    return found
