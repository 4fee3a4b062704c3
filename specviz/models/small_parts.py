"""The small operations between a layer's products, in functions that a compiler can fuse.

In a CUDA graph, too, every kernel takes 2 to 4 µs, and a layer has a dozen of these. With Triton,
which comes with torch's CUDA wheels, `torch.compile` makes few kernels of them. Triton was chosen
through it, and no kernels were written by hand, because that way was measured on an H100 and the
same functions run without Triton.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

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
        compiled: Whether to compile them, each for a shape at its first use.
        options: Options of `torch.compile`.

    Attributes:
        works: Whether they are compiled and none has failed yet.
    """

    def __init__(self, compiled: bool = False, **options: Any) -> None:
        parts: tuple[Callable[..., Any], ...] = (add_and_norm, gate, store) if compiled else ()
        usual = {"fullgraph": True, **options}  # what cannot be compiled raises an error
        self._fast = {part: torch.compile(_copied(part), **usual) for part in parts}
        self.works = compiled

    def run(self, part: Callable[..., Any], rows: Tensor, *rest: Any) -> Any:
        """Run one of the functions."""
        if self.works and len(rows) <= MOST_ROWS:
            try:
                return self._fast[part](rows, *rest)
            except Exception as problem:  # of torch, Triton or the compiler that they call
                log.warning("passes are not compiled from here on: %s", str(problem)[:300])
                self.works = False
        return part(rows, *rest)


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    # torch compiles a code object for at most eight combinations of shapes and precisions. A copy
    # has a code object of its own, so that models do not share that number.
    return FunctionType(function.__code__.replace(), function.__globals__, function.__name__)


def can_compile() -> bool:
    """Return whether Triton is installed."""
    return find_spec("triton") is not None
