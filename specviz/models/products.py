"""Matrix products on a CPU, each computed by the library that is fastest for its shape.

A plain pass multiplies one row by every weight matrix, so its speed is limited by how fast the
weights can be read from memory. How close a product comes to that limit depends on the library, the
shape, the number of rows and the processor. On an AMD EPYC (one thread, 1 row, 576 to 1,536,
float32) torch's usual product reads 9 GB/s, oneDNN with packed weights 13, NumPy's BLAS on a
transposed copy 20, and just reading the memory 23. With four rows, oneDNN is fastest and BLAS
slowest. `choose_plans` measures all of them when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import zip_longest
from statistics import median
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.torch import pack_weights, packed_linear
from specviz.models.load_control import check_stop
from specviz.models.threads import share_with_numpy

SAMPLE_BYTES: Final = 24 << 20  # how many bytes of weights of one shape a measurement reads
CACHE_BYTES: Final = 64 << 20  # in bytes: more than a processor's caches hold
ALWAYS_CACHED_BYTES: Final = 1 << 20  # in bytes: smaller networks stay in the caches anyway
FEW_ROWS: Final = 3  # up to this many rows, each number of rows has its own plan
TREE_ROWS: Final = 10  # typical number of rows of a tree
PADDED_ROWS: Final = 4
PASSES: Final = 9  # how many measurements are made per thread pool
STEPS: Final = 20  # takes about 40 µs, the time between two products of a pass
MEASUREMENTS: Final = 5  # turns per choice, after a first one to warm up
MEASUREMENTS_OF_SLOW: Final = 2  # turns after which a clearly slower choice is dropped
CLEARLY_SLOWER: Final = 1.25  # ratio of times at which a choice counts as clearly slower

Array = np.ndarray[Any, np.dtype[np.float32]]
Clock = Callable[[], float]


class Backend(Enum):
    """A library that computes products; the value is its name in the header of traces."""

    TORCH = "torch"
    NUMPY = "NumPy"
    ONEDNN = "oneDNN"
    PADDED = "oneDNN with rows added"

    @property
    def packed(self) -> bool:
        """Whether the library needs a copy of the weights in oneDNN's order."""
        return self in (Backend.ONEDNN, Backend.PADDED)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to multiply by a matrix of one shape.

    Attributes:
        transposed: Whether the weights are stored as (in, out), not as (out, in).
        one: The backend for one row.
        two: The backend for two rows, a typical level of a small dynamic tree.
        few: The backend for three rows.
        many: The backend for more rows.
    """

    transposed: bool
    one: Backend
    two: Backend
    few: Backend
    many: Backend

    def backend(self, rows: int) -> Backend:
        """Return the backend for this many rows."""
        if rows <= FEW_ROWS:
            return (self.one, self.two, self.few)[rows - 1]
        return self.many

    @property
    def packed(self) -> bool:
        """Whether packed weights are needed for some number of rows."""
        return any(backend.packed for backend in (self.one, self.two, self.few, self.many))


DEFAULT_PLAN: Final = Plan(False, *[Backend.TORCH] * 4)
MEASURED_PLANS: dict[tuple[object, ...], dict[tuple[int, int], Plan]] = {}  # by shapes and threads


class Product:
    """A weight matrix, prepared for multiplication.

    Attributes:
        weight: (out, in).
        bias: (out,) or None.
        packed: The weight in oneDNN's order, or None.
    """

    __slots__ = ("bias", "in_features", "matrix", "out_features", "packed", "plan", "weight")

    def __init__(
        self, weight: Tensor, bias: Tensor | None, plan: Plan, packed: Tensor | None = None
    ) -> None:
        """Prepare a matrix.

        Args:
            weight: (out, in).
            bias: (out,) or None.
            plan: Which backend to use.
            packed: The result of `pack_weights`, if it is known already.
        """
        self.weight, self.bias, self.plan = weight, bias, plan
        self.out_features, self.in_features = weight.shape
        self.matrix: Array = weight.numpy()
        self.packed = pack_weights(weight) if packed is None and plan.packed else packed

    def __call__(self, rows: Array) -> Array:
        """Multiply rows (r, in) to (r, out), in new memory."""
        return self.multiply(self.plan.backend(len(rows)), rows)

    def multiply(self, backend: Backend, rows: Array) -> Array:
        """Multiply rows with a given backend; NumPy multiplies one row after the other."""
        if backend is Backend.NUMPY:
            return self._by_numpy(rows)
        return self._by_torch(backend, torch.from_numpy(rows)).numpy()

    def multiply_tensor(self, rows: Tensor) -> Tensor:
        """Multiply rows (..., in) to (..., out), in new memory, without gradients."""
        backend = self.plan.backend(rows.numel() // self.in_features)
        if backend is not Backend.NUMPY:
            return self._by_torch(backend, rows)
        flat = rows.detach().reshape(-1, self.in_features).numpy()
        return torch.from_numpy(self._by_numpy(flat)).view(*rows.shape[:-1], self.out_features)

    def _by_numpy(self, rows: Array) -> Array:
        out = np.empty((len(rows), self.out_features), np.float32)
        for row, result in zip(rows, out, strict=True):
            np.dot(self.matrix, row, out=result)
        if self.bias is not None:
            out += self.bias.numpy()
        return out

    def _by_torch(self, backend: Backend, rows: Tensor) -> Tensor:
        if backend is Backend.TORCH:
            return nn.functional.linear(rows, self.weight, self.bias)
        assert self.packed is not None
        if backend is Backend.PADDED:
            flat = rows.reshape(-1, self.in_features)
            padded = rows.new_zeros(PADDED_ROWS, self.in_features)
            padded[: len(flat)] = flat
            out = packed_linear(padded, self.packed, self.bias)[: len(flat)]
            return out.view(*rows.shape[:-1], self.out_features)
        return packed_linear(rows, self.packed, self.bias)


Group = Sequence[nn.Linear]  # layers that multiply the same rows and are computed as one product


def shape_of(group: Group) -> tuple[int, int]:
    """Return (in, out) of a group's matrix."""
    return group[0].in_features, sum(layer.out_features for layer in group)


def is_large(size: int) -> bool:
    """Return whether weights of `size` bytes are too large for a processor's cache."""
    return size > CACHE_BYTES


Shape = tuple[int, int]  # (in, out)
Choice = tuple[bool, Backend]  # a layout (transposed or not) and a backend


def choose_plans(groups: Sequence[Group], clock: Clock) -> dict[Shape, Plan]:
    """Return the fastest plan of each shape, measured once; the layout suits one row."""
    key = (torch.get_num_threads(), *map(shape_of, groups))
    if key not in MEASURED_PLANS:
        size = sum(layer.weight.nbytes for group in groups for layer in group)
        pools = share_with_numpy(is_large(size)) > 1
        MEASURED_PLANS[key] = _measure_plans(_sample(groups), pools, clock)
    return MEASURED_PLANS[key]


@torch.no_grad()
def _sample(groups: Sequence[Group]) -> dict[Shape, list[Tensor]]:
    # (out, in); large ones are cut to the first outputs.
    found: dict[Shape, list[Tensor]] = {}
    for group in groups:
        inner, outer = shape_of(group)
        matrices = found.setdefault((inner, outer), [])
        if (
            not matrices
            or sum(each.nbytes for each in matrices) + 4 * inner * outer <= SAMPLE_BYTES
        ):
            most = max(1, SAMPLE_BYTES // (4 * inner))
            matrices.append(torch.cat([layer.weight[:most] for layer in group])[:most])
    return found


def _measure_plans(
    sample: Mapping[Shape, Sequence[Tensor]], pools: bool, clock: Clock
) -> dict[Shape, Plan]:
    # First the fastest layout for one row, then the fastest backends with it. pools: whether NumPy
    # uses several threads, in another pool than torch's. A pass that alternates between the two is
    # slow, so all shapes then use one pool, and weights are not transposed: with two threads, whole
    # passes of SmolLM2 were 6 to 15 % slower with transposed copies, although single products were
    # not.
    ready = {shape: _in_layouts(matrices) for shape, matrices in sample.items()}
    packing = [Backend.ONEDNN, Backend.PADDED] if can_pack() else []
    layouts = (False,) if pools else (True, False)
    either = [(layout, b) for layout in layouts for b in (Backend.NUMPY, Backend.TORCH)]
    packed = [(False, backend) for backend in packing]  # the packed copy has its own layout
    times = _measure(ready, 1, {shape: [*either, *packed] for shape in ready}, clock)
    one = _in_one_pool(times, ready, clock) if pools else _shortest(times)
    more = {
        shape: [(one[shape][0], backend) for backend in (*packing, Backend.TORCH)]
        for shape in ready
    }
    rowwise = [] if pools else [Backend.NUMPY]
    by_rows = {shape: [*((one[shape][0], b) for b in rowwise), *more[shape]] for shape in ready}
    two = _shortest(_measure(ready, 2, by_rows, clock))
    few = _shortest(_measure(ready, FEW_ROWS, by_rows, clock))
    without = {shape: [c for c in more[shape] if c[1] is not Backend.PADDED] for shape in ready}
    many = _shortest(_measure(ready, TREE_ROWS, without, clock))
    return {
        shape: Plan(*one[shape], two[shape][1], few[shape][1], many[shape][1]) for shape in ready
    }


Ready = Mapping[Shape, Mapping[bool, Sequence[Product]]]  # for each shape and layout
Times = Mapping[Shape, Mapping[Choice, float]]  # median seconds


@torch.inference_mode()
def _in_layouts(matrices: Sequence[Tensor]) -> dict[bool, list[Product]]:
    # Both layouts share the packed copy.
    plan = Plan(False, *[Backend.ONEDNN] * 4) if can_pack() else DEFAULT_PLAN
    usual = [Product(matrix, None, plan) for matrix in _in_block(matrices)]
    turned = _in_block([matrix.t() for matrix in matrices])
    pairs = zip(turned, usual, strict=True)
    return {
        False: usual,
        True: [Product(matrix.t(), None, plan, other.packed) for matrix, other in pairs],
    }


def _in_block(matrices: Sequence[Tensor]) -> list[Tensor]:
    # As in a network; NumPy requests large pages for it.
    sizes = [matrix.numel() for matrix in matrices]
    parts = torch.from_numpy(np.empty(sum(sizes), np.float32)).split(sizes)
    pairs = zip(parts, matrices, strict=True)
    return [part.view(matrix.shape).copy_(matrix) for part, matrix in pairs]


@torch.inference_mode()
def _measure(
    ready: Ready, rows: int, choices: Mapping[Shape, Sequence[Choice]], clock: Clock
) -> Times:
    # The median time of each choice, in seconds for all matrices. Choices are measured in turns,
    # and so are shapes. Before each turn of a small network (a drafter's), other memory is read,
    # because in a run a larger network computes between its passes, so that its weights come from
    # memory, not from the processor's cache. A clearly slower choice is dropped early.
    matrices = [product.matrix for products in ready.values() for product in products[False]]
    size = sum(each.nbytes for each in matrices)
    others = torch.zeros(
        (CACHE_BYTES - size) // 4 if ALWAYS_CACHED_BYTES < size < CACHE_BYTES else 0
    )
    spent: dict[Shape, dict[Choice, list[float]]] = {
        shape: {choice: [] for choice in choices[shape]} for shape in ready
    }
    for turn in range(MEASUREMENTS + 1):
        check_stop()
        for position in range(max(map(len, spent.values()))):
            others.sum()
            for shape, times in spent.items():
                order = list(times) if turn % 2 else [*reversed(times)]
                if position < len(order) and not _is_clearly_slower(order[position], times):
                    products = ready[shape][order[position][0]]
                    times[order[position]].append(
                        _seconds(products, order[position][1], rows, clock)
                    )
    return {
        shape: {choice: median(each[1:]) for choice, each in times.items()}
        for shape, times in spent.items()
    }


def _shortest(times: Times) -> dict[Shape, Choice]:
    return {shape: min(by_choice, key=by_choice.__getitem__) for shape, by_choice in times.items()}


def _in_one_pool(times: Times, ready: Ready, clock: Clock) -> dict[Shape, Choice]:
    # By a whole pass.
    numpy, torchs = (
        _shortest(
            {
                shape: {c: t for c, t in by_choice.items() if (c[1] is Backend.NUMPY) is wanted}
                for shape, by_choice in times.items()
            }
        )
        for wanted in (True, False)
    )
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(PASSES):
        for choices, own in zip((numpy, torchs), spent, strict=True):
            own.append(_pass_seconds(ready, choices, clock))
    return numpy if median(spent[0]) <= median(spent[1]) else torchs


@torch.inference_mode()
def _pass_seconds(ready: Ready, choices: Mapping[Shape, Choice], clock: Clock) -> float:
    # One row by all matrices, in the order of a pass.
    rows = {shape: np.ones((1, shape[0]), np.float32) for shape in ready}
    lines = [[(shape, p) for p in ready[shape][choices[shape][0]]] for shape in ready]
    begin = clock()
    for layer in zip_longest(*lines):
        for shape, product in filter(None, layer):
            product.multiply(choices[shape][1], rows[shape])
            for _ in range(STEPS):
                np.exp(rows[shape])
    return clock() - begin


def _is_clearly_slower(choice: Choice, times: Mapping[Choice, Sequence[float]]) -> bool:
    best = min((t for other in times.values() for t in other[1:]), default=0.0)
    return (
        len(times[choice]) > MEASUREMENTS_OF_SLOW and min(times[choice][1:]) > CLEARLY_SLOWER * best
    )


def _seconds(products: Sequence[Product], backend: Backend, rows: int, clock: Clock) -> float:
    # With several threads, small operations are run between two products, as in a pass: idle
    # threads fall asleep meanwhile, and waking them takes as long as a small product.
    given = np.ones((rows, products[0].in_features), np.float32)
    steps, spent = STEPS if torch.get_num_threads() > 1 else 0, 0.0
    for product in products:
        for _ in range(steps):
            np.exp(given)
        begin = clock()
        product.multiply(backend, given)
        spent += clock() - begin
    return spent


@cache
def can_pack() -> bool:
    """Return whether this build of torch can pack weights and multiplies by them correctly."""
    rows = torch.linspace(-1, 1, 96).view(3, 32)
    weight = torch.linspace(-1, 1, 48 * 32).view(48, 32)
    try:
        with torch.inference_mode():
            packed = pack_weights(weight)
            usual = nn.functional.linear(rows, weight)
            return torch.allclose(packed_linear(rows, packed, None), usual, atol=1e-4)
    except (AttributeError, RuntimeError, TypeError):  # oneDNN is missing, or its interface changed
        return False
