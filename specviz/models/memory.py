"""Bytes that stay in memory for some objects and not for others, read from their tensors.

Rule: nothing is worked out from shapes, and nobody declares anything. Whatever an object leads to
is followed, as Python's garbage collector sees it, so that weights, packed copies and caches of
anyone's drafter are found where they are. Left out is what is no tensor, and what a class or a
module of code keeps for all.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType

import torch
from torch import Tensor

from specviz.adapters.torch import packed_block


def unique_bytes(things: Iterable[object], beyond: Iterable[object]) -> int:
    """Bytes that `things` lead to and `beyond` does not.

    A block of memory counts once, however many tensors view it, and whole, with a cache's room.
    """
    seen: set[int] = set()
    others = _blocks(_tensors(beyond, seen))
    own = _blocks(_tensors(things, seen))
    return sum(size for address, size in own.items() if address not in others)


def _tensors(things: Iterable[object], seen: set[int]) -> Iterator[Tensor]:
    """All tensors on the way from `things`. seen: ids of what was met; it grows."""
    left = list(things)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType) or not gc.is_tracked(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            # Cut up over processes, this one has its own part only.
            yield thing.to_local() if hasattr(thing, "to_local") else thing
        elif isinstance(thing, FunctionType):
            left += thing.__closure__ or ()  # not its globals, which lead everywhere
        else:
            left += gc.get_referents(thing)


def _blocks(tensors: Iterable[Tensor]) -> dict[int, int]:
    """By address, how many bytes are allocated there."""
    found: dict[int, int] = {}
    for tensor in tensors:
        if tensor.is_mkldnn:
            address, size = packed_block(tensor)
            found[address] = size
        elif tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        else:  # sparse: it has no memory but that of the tensors that it would be made of again
            found |= _blocks(_tensors([tensor.__reduce_ex__(2)], set()))
    return found
