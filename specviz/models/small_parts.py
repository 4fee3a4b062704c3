"""The small operations between a layer's products, in functions that a compiler can fuse.

In a CUDA graph, too, every kernel takes 2 to 4 µs, and a layer has a dozen of these. With Triton,
which comes with torch's CUDA wheels, `torch.compile` makes few kernels of them. Triton was chosen
through it, and no kernels were written by hand, because that way was measured on an H100 and the
same functions run without Triton.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.adapters.torch import mark_varying
from specviz.models.graphs import MOST_ROWS

log = logging.getLogger(__name__)


def norm(rows: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Return the RMS norm of rows (..., h)."""
    if not torch.compiler.is_compiling():
        return functional.rms_norm(rows, weight.shape, weight, eps)
    wide = rows.float()  # written out, because torch's norm would not be joined with its neighbours
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(rows.dtype) * weight


def add_and_norm(rows: Tensor, added: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the sum of rows (n, h), and its norm."""
    rows = rows + added
    return rows, norm(rows, weight, eps)


def gate(projected: Tensor) -> Tensor:
    """Return SiLU of the first half of each row (n, 2 h) times the second half."""
    gates, up = projected.chunk(2, -1)
    return functional.silu(gates) * up


def store(
    projected: Tensor,
    turn: tuple[Tensor, Tensor],
    norms: tuple[Tensor | None, Tensor | None],
    slots: Tensor,
    memory: tuple[Tensor, Tensor],
    shape: tuple[int, float],
) -> Tensor:
    """Write keys and values to a layer's memory, and return the queries.

    The query heads that share a key head are rows of it, (1, key heads, n · queries, size), so that
    no key is repeated.

    Args:
        projected: Queries, keys and values, (n, heads · size).
        turn: Cosines and sines of each row's position, (n, 1, size).
        norms: Weights of the norms of a query and of a key, or None.
        slots: The memory's row of each row, (n,).
        memory: Keys and values, (key heads, reach + 1, size).
        shape: Number of query heads, and ε of the norms.
    """
    own, eps = shape
    shared, _, size = memory[0].shape
    heads = projected.view(len(projected), -1, size)
    queries, keys, values = heads.split([own, shared, shared], 1)
    if norms[0] is not None and norms[1] is not None:
        queries, keys = norm(queries, norms[0], eps), norm(keys, norms[1], eps)
    both = torch.cat([queries, keys], 1)
    halves = torch.cat([-both[..., size // 2 :], both[..., : size // 2]], -1)
    both = both * turn[0] + halves * turn[1]
    for kept, new in zip(memory, (both[:, own:], values), strict=True):
        kept.index_copy_(1, slots, new.transpose(0, 1))
    queries = both[:, :own].view(len(projected), shared, -1, size)
    return queries.permute(1, 2, 0, 3).reshape(1, shared, -1, size)


class SmallParts:
    """Runs the functions of this module, compiled if possible.

    Passes over many rows, such as a prompt's, have any number of rows, and are not worth compiling
    for each.

    Args:
        model: The sizes and the precision that determine what is compiled; models that are alike in
            them share it. None: nothing is compiled.
        options: Options of `torch.compile`.

    Attributes:
        works: Whether they are compiled and none has failed yet.
    """

    def __init__(self, model: Hashable = None, **options: Any) -> None:
        self.works = model is not None
        self._model, self._options = model, options

    def run(self, part: Callable[..., Any], rows: Tensor, *rest: Any) -> Any:
        """Run one of the functions."""
        if self.works and len(rows) <= MOST_ROWS:
            try:
                for tensor, axis in _varying(part, rows, *rest):
                    mark_varying(tensor, axis)
                return _compiled(part, self._model, **self._options)(rows, *rest)
            except Exception as problem:  # of torch, Triton or the compiler that they call
                log.warning("passes are not compiled from here on: %s", str(problem)[:300])
                self.works = False
        return part(rows, *rest)


@cache
def _compiled(part: Callable[..., Any], _model: Hashable, **options: Any) -> Callable[..., Any]:
    # torch compiles a code object at most eight times, and would then run it as it is. Each model's
    # copy has a code object of its own, which is compiled for one row and for any number of rows.
    copy = FunctionType(part.__code__.replace(), part.__globals__, part.__name__)
    # All other sizes are constants: kernels for any size are more, and slower.
    return torch.compile(copy, **{"fullgraph": True, "dynamic": False, **options})


def _varying(part: Callable[..., Any], rows: Tensor, *rest: Any) -> Iterator[tuple[Tensor, int]]:
    # What differs between two passes of a model: the number of rows, and the memory's.
    several = len(rows) > 1
    if several:
        yield rows, 0
    if part is add_and_norm and several:
        yield rest[0], 0
    if part is store:
        turn, _, slots, memory, _ = rest
        for each in (*turn, slots) if several else ():
            yield each, 0
        for each in memory:
            yield each, 1


def can_compile() -> bool:
    """Return whether Triton is installed."""
    return find_spec("triton") is not None
