"""Linear layers on a CPU, each multiplied in the way that is fastest here for its shape.

A plain pass multiplies one row by every weight matrix, so it can be no faster than memory delivers
them. How near a product comes to that depends on the library, on the shape, on the number of rows
and on the processor: on an AMD EPYC (one thread, 1 row, 576 to 1,536, float32) torch's usual
product reads 9 GB/s, oneDNN with packed weights 13, NumPy's BLAS on a transposed copy 20, and a
plain read 23. With four rows oneDNN comes first, and BLAS last. `choose` measures them when a model
is loaded.

Weights are moved into one block of memory, in the layout that is fastest for one row. A layer's
parameter becomes a view of it, so that everything else that reads the parameter goes on as before.
oneDNN needs a copy of its own; it is made only where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import chain, islice
from statistics import median
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.torch import pack_weights, packed_linear
from specviz.models.parallel import processes
from specviz.models.threads import share_with_numpy
from specviz.models.weight_budget import check_stop

MOST_BYTES: Final = 1 << 31  # of weights that may be kept twice
SAMPLE: Final = 24 << 20  # bytes of weights of one shape that a measurement reads
CACHE: Final = 64 << 20  # bytes: more than processors keep near them
TINY: Final = 1 << 20  # bytes: less stays near them in any case
ALIGNED: Final = 16  # float32 numbers: where a matrix begins in the block
FEW: Final = 3  # rows at most for which BLAS may have a way of its own
MANY: Final = 10  # rows of a typical tree
PADDED_ROWS: Final = 4
NETWORK: Final = "specviz_network"  # the attribute of a model that has a pass of our own
TURNS: Final = 5  # of each way, after one that only warms up
ENOUGH: Final = (
    2  # turns after which a clearly slower way is measured no further, the first left out
)
CLEARLY: Final = 1.25

Array = np.ndarray[Any, np.dtype[np.float32]]
Clock = Callable[[], float]


class Way(Enum):
    """Who multiplies. The value is how a trace's header names it."""

    TORCH = "torch"
    NUMPY = "NumPy"
    ONEDNN = "oneDNN"
    PADDED = "oneDNN with rows added"

    @property
    def packed(self) -> bool:
        """Whether it needs a copy of the weights in oneDNN's order."""
        return self in (Way.ONEDNN, Way.PADDED)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to multiply by a matrix of one shape.

    transposed: weights lie in memory as (in, out), not (out, in). one, few, many: the way for one
    row, for two or three, and for more.
    """

    transposed: bool
    one: Way
    few: Way
    many: Way

    def way(self, rows: int) -> Way:
        """The way for so many rows."""
        return self.one if rows == 1 else self.few if rows <= FEW else self.many

    @property
    def packed(self) -> bool:
        """Whether any number of rows needs packed weights."""
        return any(way.packed for way in (self.one, self.few, self.many))


USUAL: Final = Plan(False, Way.TORCH, Way.TORCH, Way.TORCH)
MEASURED: dict[tuple[object, ...], dict[tuple[int, int], Plan]] = {}  # by shapes and threads


class Product:
    """One weight matrix, ready to be multiplied by. weight: (out, in). bias: (out,) or None.

    matrix: the weight as NumPy sees it.
    """

    __slots__ = ("bias", "in_features", "matrix", "out_features", "packed", "plan", "weight")

    def __init__(
        self, weight: Tensor, bias: Tensor | None, plan: Plan, packed: Tensor | None = None
    ) -> None:
        """packed: `pack_weights` of the weight, where that is there already."""
        self.weight, self.bias, self.plan = weight, bias, plan
        self.out_features, self.in_features = weight.shape
        self.matrix: Array = weight.numpy()
        self.packed = pack_weights(weight) if packed is None and plan.packed else packed

    def __call__(self, rows: Array) -> Array:
        """(r, in) to (r, out), in new memory."""
        return self.by(self.plan.way(len(rows)), rows)

    def by(self, way: Way, rows: Array) -> Array:
        """The same in a way of the caller's choice; NumPy multiplies one row only."""
        if way is Way.NUMPY:
            return self._by_numpy(rows)
        return self._by_torch(way, torch.from_numpy(rows)).numpy()

    def of_tensor(self, rows: Tensor) -> Tensor:
        """(..., in) to (..., out), in new memory. No gradient flows."""
        way = self.plan.way(rows.numel() // self.in_features)
        if way is not Way.NUMPY:
            return self._by_torch(way, rows)
        flat = rows.detach().reshape(-1, self.in_features).numpy()
        return torch.from_numpy(self._by_numpy(flat)).view(*rows.shape[:-1], self.out_features)

    def _by_numpy(self, rows: Array) -> Array:
        out = np.empty((1, self.out_features), np.float32)
        np.dot(self.matrix, rows[0], out=out[0])
        if self.bias is not None:
            out += self.bias.numpy()
        return out

    def _by_torch(self, way: Way, rows: Tensor) -> Tensor:
        if way is Way.TORCH:
            return nn.functional.linear(rows, self.weight, self.bias)
        assert self.packed is not None
        if way is Way.PADDED:
            flat = rows.reshape(-1, self.in_features)
            more = rows.new_zeros(PADDED_ROWS, self.in_features)
            more[: len(flat)] = flat
            out = packed_linear(more, self.packed, self.bias)[: len(flat)]
            return out.view(*rows.shape[:-1], self.out_features)
        return packed_linear(rows, self.packed, self.bias)


class FastLinear(nn.Linear):
    """A linear layer that will not be trained: its weights must not change once it is planned."""

    product: Product

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out); the usual product where gradients flow."""
        if torch.is_grad_enabled():
            return super().forward(input)
        return self.product.of_tensor(input)


Group = Sequence[nn.Linear]  # layers that multiply the same rows: one product serves them all


@runtime_checkable
class FusedPart(Protocol):
    """A module that computes some of its linear layers as one product."""

    def product_groups(self) -> list[Group]:
        """Its layers, grouped by the rows that they multiply."""

    def use(self, products: Sequence[Product]) -> None:
        """Compute with these products from now on, one for each group."""


def speed_up(
    network: nn.Module, groups: Iterable[Group] = (), clock: Clock | None = None
) -> list[Product] | None:
    """Plan and lay out all linear layers of a network in place; None where nothing is done.

    groups: layers that read the same rows, which are then computed as one matrix; the products
    returned are theirs, in this order. All other layers become `FastLinear`. Layers of a group
    stay ordinary ones, on the same memory. clock: the machine's unless given.

    Only on a CPU and in float32, for weights of up to 2 GiB, and not where processes share a
    target, which would each choose for themselves.
    """
    together = [list(group) for group in groups]
    grouped = {id(layer) for group in together for layer in group}
    alone = [
        [layer]
        for layer in network.modules()
        if type(layer) is nn.Linear and id(layer) not in grouped
    ]
    jobs = together + alone
    weights = [layer.weight for job in jobs for layer in job]
    size = sum(weight.nbytes for weight in {id(w): w for w in weights}.values())
    ready = all(w.device.type == "cpu" and w.dtype == torch.float32 for w in weights)
    if not (jobs and ready and size <= MOST_BYTES and processes() == 1):
        return None
    plans = choose(jobs, clock or perf_counter)
    block = _Block(sum(-(-w.numel() // ALIGNED) * ALIGNED for w in weights))
    made = [_laid_out(job, plans[_shape(job)], block) for job in jobs]
    block.own(network)
    for [layer], product in zip(alone, made[len(together) :], strict=True):
        layer.__class__ = FastLinear
        assert isinstance(layer, FastLinear)
        layer.product = product
    return made[: len(together)]


def speed_up_parts(network: nn.Module) -> None:
    """Do the same for a network whose fused parts say themselves which layers to group."""
    parts = [part for part in network.modules() if isinstance(part, FusedPart)]
    groups = [part.product_groups() for part in parts]
    made = speed_up(network, chain.from_iterable(groups))
    if made is not None:
        products = iter(made)
        for part, own in zip(parts, groups, strict=True):
            if own:
                part.use(list(islice(products, len(own))))


class _Block:
    """One allocation for all matrices: NumPy asks the system for large pages where it is large."""

    def __init__(self, numbers: int) -> None:
        self.memory = torch.from_numpy(np.empty(numbers, np.float32))
        self.first = 0

    def put(self, matrix: Tensor) -> Tensor:
        """A copy of a matrix in the block, its rows one behind the other."""
        numbers = matrix.numel()
        there = self.memory[self.first : self.first + numbers].view(matrix.shape)
        self.first += -(-numbers // ALIGNED) * ALIGNED
        return there.copy_(matrix)

    def own(self, network: nn.Module) -> None:
        """Copy parameters that are views of other memory, which would keep all of it alive."""
        here = self.memory.untyped_storage().data_ptr()
        for weight in network.parameters():
            storage = weight.untyped_storage()
            if storage.nbytes() > weight.nbytes and storage.data_ptr() != here:
                weight.data = weight.data.clone()


def _shape(job: Group) -> tuple[int, int]:
    """(in, out) of a group's matrix."""
    return job[0].in_features, sum(layer.out_features for layer in job)


@torch.no_grad()
def _laid_out(job: Group, plan: Plan, block: _Block) -> Product:
    """A group's product; its layers' parameters become views of the product's memory."""
    whole = torch.cat([layer.weight for layer in job]) if len(job) > 1 else job[0].weight
    there = (block.put(whole.t()).t() if plan.transposed else block.put(whole)).detach()
    first = 0
    for layer in job:
        layer.weight.data = there[first : first + layer.out_features]
        first += layer.out_features
    return Product(there, _bias(job), plan)


def _bias(job: Group) -> Tensor | None:
    """The biases of a group as one, zero where a layer has none; None where no layer has one."""
    if all(layer.bias is None for layer in job):
        return None
    none = torch.zeros
    return torch.cat([none(x.out_features) if x.bias is None else x.bias.detach() for x in job])


def is_large(size: int) -> bool:
    """Whether weights of so many bytes come from memory in every pass, not from a cache."""
    return size > CACHE


Shape = tuple[int, int]  # (in, out)
Choice = tuple[bool, Way]  # a layout (transposed or not) and a way


def choose(jobs: Sequence[Group], clock: Clock) -> dict[Shape, Plan]:
    """By shape of a group's matrix, the fastest plan. Measured once for these shapes and threads.

    One row decides on the layout, since plain decoding is what all else is compared with.
    """
    key = (torch.get_num_threads(), *map(_shape, jobs))
    if key not in MEASURED:
        share_with_numpy(is_large(sum(layer.weight.nbytes for job in jobs for layer in job)))
        MEASURED[key] = _measured(_sample(jobs), clock)
    return MEASURED[key]


@torch.no_grad()
def _sample(jobs: Sequence[Group]) -> dict[Shape, list[Tensor]]:
    """By shape, some of its matrices (out, in), or the first outputs of a large one."""
    found: dict[Shape, list[Tensor]] = {}
    for job in jobs:
        inner, outer = _shape(job)
        held = found.setdefault((inner, outer), [])
        if not held or sum(each.nbytes for each in held) + 4 * inner * outer <= SAMPLE:
            most = max(1, SAMPLE // (4 * inner))
            held.append(torch.cat([layer.weight[:most] for layer in job])[:most])
    return found


def _measured(sample: Mapping[Shape, Sequence[Tensor]], clock: Clock) -> dict[Shape, Plan]:
    """By shape, the layout that is fastest for one row, and with it the ways for more rows."""
    ready = {shape: _in_layouts(matrices) for shape, matrices in sample.items()}
    packing = [Way.ONEDNN, Way.PADDED] if can_pack() else []
    either = [(layout, way) for layout in (True, False) for way in (Way.NUMPY, Way.TORCH)]
    packed = [(False, way) for way in packing]  # its copy of the weights has a layout of its own
    one = _fastest(ready, 1, {shape: [*either, *packed] for shape in ready}, clock)
    more = {shape: [(one[shape][0], way) for way in (*packing, Way.TORCH)] for shape in ready}
    few = _fastest(ready, FEW, more, clock)
    without = {shape: [c for c in more[shape] if c[1] is not Way.PADDED] for shape in ready}
    many = _fastest(ready, MANY, without, clock)
    return {shape: Plan(*one[shape], few[shape][1], many[shape][1]) for shape in ready}


Ready = Mapping[Shape, Mapping[bool, Sequence[Product]]]  # by shape and layout


@torch.inference_mode()
def _in_layouts(matrices: Sequence[Tensor]) -> dict[bool, list[Product]]:
    """Matrices as they are and transposed in memory; both share the packed copy."""
    plan = Plan(False, Way.ONEDNN, Way.ONEDNN, Way.ONEDNN) if can_pack() else USUAL
    usual = [Product(matrix, None, plan) for matrix in matrices]
    return {
        False: usual,
        True: [Product(p.weight.t().contiguous().t(), None, plan, p.packed) for p in usual],
    }


@torch.inference_mode()
def _fastest(
    ready: Ready, rows: int, choices: Mapping[Shape, Sequence[Choice]], clock: Clock
) -> dict[Shape, Choice]:
    """By shape, the choice with the shortest median time for so many rows.

    Choices take turns, and so do shapes. Before each turn of a small network, other memory is
    read, since a larger one computes between its passes: weights come from memory, not from a
    processor's cache. A choice that is clearly slower is measured no further.
    """
    matrices = [product.matrix for products in ready.values() for product in products[False]]
    size = sum(each.nbytes for each in matrices)
    others = torch.zeros((CACHE - size) // 4 if TINY < size < CACHE else 0)
    spent: dict[Shape, dict[Choice, list[float]]] = {
        shape: {choice: [] for choice in choices[shape]} for shape in ready
    }
    for turn in range(TURNS + 1):
        check_stop()
        for place in range(max(map(len, spent.values()))):
            others.sum()
            for shape, times in spent.items():
                order = list(times) if turn % 2 else [*reversed(times)]
                if place < len(order) and not _hopeless(order[place], times):
                    products = ready[shape][order[place][0]]
                    times[order[place]].append(_seconds(products, order[place][1], rows, clock))
    return {
        shape: min(times, key=lambda choice: median(times[choice][1:]))
        for shape, times in spent.items()
    }


def _hopeless(choice: Choice, times: Mapping[Choice, Sequence[float]]) -> bool:
    """Whether a choice's best time in three turns or more is clearly over another's."""
    best = min((t for other in times.values() for t in other[1:]), default=0.0)
    return len(times[choice]) > ENOUGH and min(times[choice][1:]) > CLEARLY * best


def _seconds(products: Sequence[Product], way: Way, rows: int, clock: Clock) -> float:
    """How long so many rows take with all of these matrices."""
    given = np.ones((rows, products[0].in_features), np.float32)
    begin = clock()
    for product in products:
        product.by(way, given)
    return clock() - begin


@cache
def can_pack() -> bool:
    """Whether this build of torch packs, and multiplies by what it packed as it should."""
    rows = torch.linspace(-1, 1, 96).view(3, 32)
    weight = torch.linspace(-1, 1, 48 * 32).view(48, 32)
    try:
        with torch.inference_mode():
            packed = pack_weights(weight)
            usual = nn.functional.linear(rows, weight)
            return torch.allclose(packed_linear(rows, packed, None), usual, atol=1e-4)
    except (AttributeError, RuntimeError, TypeError):  # no oneDNN, or another way to call it
        return False


def as_published(network: nn.Module) -> Any:
    """A copy of a network as anyone finds it: ordinary layers, weights in torch's usual layout."""
    layers = [module for module in network.modules() if isinstance(module, FastLinear)]
    own: list[object] = [getattr(network, NETWORK, None), *(layer.product for layer in layers)]
    copy = deepcopy(network, {id(each): None for each in own if each is not None})
    vars(copy).pop(NETWORK, None)
    for module in copy.modules():
        if isinstance(module, FastLinear):
            del module.product
            module.__class__ = nn.Linear  # type: ignore[assignment]
    for weight in copy.parameters():
        weight.data = weight.data.contiguous()
    return copy


def words_of(network: nn.Module) -> str:
    """How a network's products are made, for a trace's header."""
    products = [module.product for module in network.modules() if isinstance(module, FastLinear)]
    fused = getattr(network, NETWORK, None)
    if fused is not None:
        products += fused.products
    if not products:
        return "torch"
    said = {
        name: _mostly((product.weight.numel(), getattr(product.plan, part)) for product in products)
        for name, part in (("one row", "one"), ("two or three", "few"), ("more", "many"))
    }
    return "; ".join(f"{name}: {ways}" for name, ways in said.items())


def _mostly(sizes: Iterable[tuple[int, Way]]) -> str:
    """The ways by falling number of weights, such as "NumPy, oneDNN (12 %)"."""
    by_way: Counter[Way] = Counter()
    for numbers, way in sizes:
        by_way[way] += numbers
    whole = by_way.total()
    first, *rest = by_way.most_common()
    return ", ".join([first[0].value, *(f"{w.value} ({n / whole:.0%})" for w, n in rest)])
