"""Linear layers that keep their weights in the order in which oneDNN reads them, on a CPU.

Why: to multiply a few rows, the usual product may copy the weights into such an order at every
call, which costs more than the product. Packed once, checking ten guesses takes nearly as long as
one token; `python -m specviz sweep` measures it. But not everywhere: some processors have a usual
product that is faster packed or not at all, so what is kept is what was measured here.

Rule: a product of one row (a plain pass), one of a few and one of more rows (checks) each go the
way that is faster on this machine, so that plain decoding, the measure of all, is never held back.
(On one with two cores and MKL, SmolLM2's layers took 21, 24, 36, 54 ms for 1, 3, 4 and 11 rows as
usual, and 26, 31, 28, 37 ms packed.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import median
from time import perf_counter
from typing import Final

import torch
from torch import Tensor, nn

from specviz.adapters.torch import pack_weights, packed_linear
from specviz.models.parallel import processes

MOST_BYTES: Final = 1 << 31  # weights stay in memory twice, which a larger model may not afford


FEW: Final = 3  # rows at most for which the usual product may have a way of its own
MANY: Final = 10  # rows of a check
TURNS: Final = 7  # of each way, after one that only warms up


@dataclass(frozen=True, slots=True)
class Packing:
    """Where packed weights are faster. one: for one row. few: for two or three. many: for more."""

    one: bool
    few: bool
    many: bool

    def of(self, rows: int) -> bool:
        """Whether a product of so many rows is made with packed weights."""
        return self.one if rows == 1 else self.few if rows <= FEW else self.many

    @property
    def words(self) -> str:
        """For a trace's header."""
        return WORDS[self.one, self.few, self.many]


WORDS: Final = {
    (False, False, False): "usual",
    (False, False, True): "packed for more rows than three",
    (False, True, False): "packed for two or three rows",
    (False, True, True): "packed for more rows than one",
    (True, False, False): "packed for one row",
    (True, False, True): "packed for one row and for more than three",
    (True, True, False): "packed for three rows or fewer",
    (True, True, True): "packed",
}
Clock = Callable[[], float]
ALWAYS, NEVER = Packing(True, True, True), Packing(False, False, False)
MEASURED: dict[tuple[object, ...], Packing] = {}  # by shapes of the layers and threads


class PackedLinear(nn.Linear):
    """A linear layer that will not be trained: its weights must not change once they are packed."""

    packed: Tensor
    packing: Packing

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out); the usual product where gradients flow or it is faster."""
        if torch.is_grad_enabled() or not self.packing.of(input.numel() // input.shape[-1]):
            return super().forward(input)
        return packed_linear(input, self.packed, self.bias)

    def pack(self) -> None:
        """Copy the weights into oneDNN's order."""
        self.packing = ALWAYS
        with torch.inference_mode():
            self.packed = pack_weights(self.weight.detach())

    def unpack(self) -> None:
        """An ordinary layer for good, without the copy."""
        del self.packed, self.packing
        self.__class__ = nn.Linear  # type: ignore[assignment]


def pack(model: nn.Module, clock: Clock | None = None) -> None:
    """Pack a model's linear layers in place, where that is possible, faster, and not too large.

    Only on a CPU and in float32: GPUs and low precision have products of their own that do it.
    clock: gives the seconds by which it is found out what is faster; the machine's unless given.
    Not where processes share a target: each would find out for itself, and round in its own way.
    """
    layers = [layer for layer in model.modules() if type(layer) is nn.Linear]
    size = sum(layer.weight.nbytes for layer in layers)
    ready = all(_fits(layer.weight) for layer in layers)
    if not (layers and ready and size <= MOST_BYTES and can_pack() and processes() == 1):
        return
    for layer in layers:
        layer.__class__ = PackedLinear
        assert isinstance(layer, PackedLinear)
        layer.pack()
    chosen = choose(_packed(model), clock or perf_counter)
    for layer in _packed(model):
        layer.packing = chosen
        if chosen == NEVER:
            layer.unpack()


def choose(layers: Sequence[PackedLinear], clock: Clock) -> Packing:
    """Which way is faster for one row, a few, more: measured once for these shapes and threads."""
    key = (torch.get_num_threads(), *(tuple(layer.weight.shape) for layer in layers))
    if key not in MEASURED:
        MEASURED[key] = Packing(*(_faster(layers, rows, clock) for rows in (1, FEW, MANY)))
    return MEASURED[key]


@torch.inference_mode()
def _faster(layers: Sequence[PackedLinear], rows: int, clock: Clock) -> bool:
    """Whether the usual layers are no faster for so many rows, both ways taking turns."""
    inputs = [torch.ones(rows, layer.in_features) for layer in layers]
    spent: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(TURNS + 1):
        for way in (True, False) if turn % 2 else (False, True):
            product = PackedLinear.forward if way else nn.Linear.forward
            begin = clock()
            for layer, given in zip(layers, inputs, strict=True):
                product(layer, given)
            spent[way].append(clock() - begin)
    return median(spent[True][1:]) <= median(spent[False][1:])


@contextmanager
def unpacked(*models: nn.Module) -> Iterator[None]:
    """The usual products again for a while, in all threads: what a model costs where nobody packs.

    For measurements; nothing is copied.
    """
    layers = [layer for model in models for layer in _packed(model)]
    _become(nn.Linear, layers)
    try:
        yield
    finally:
        _become(PackedLinear, layers)


def is_packed(model: nn.Module) -> bool:
    """Whether a model has layers that are packed."""
    return bool(_packed(model))


def packing_of(model: nn.Module) -> Packing:
    """How a model's products are made."""
    return next((layer.packing for layer in _packed(model)), NEVER)


@cache
def can_pack() -> bool:
    """Whether this build of torch packs, and multiplies by what it packed as it should."""
    rows = torch.linspace(-1, 1, 96).view(3, 32)
    layer = nn.utils.skip_init(PackedLinear, 32, 48, bias=False).requires_grad_(False)
    layer.weight.copy_(torch.linspace(-1, 1, 48 * 32).view(48, 32))
    try:
        layer.pack()
        with torch.inference_mode():
            usual = nn.functional.linear(rows, layer.weight)
            return torch.allclose(layer(rows), usual, atol=1e-4)
    except (AttributeError, RuntimeError, TypeError):  # no oneDNN, or another way to call it
        return False


def _become(kind: type[nn.Linear], layers: Sequence[nn.Linear]) -> None:
    for layer in layers:
        layer.__class__ = kind


def _packed(model: nn.Module) -> list[PackedLinear]:
    return [layer for layer in model.modules() if isinstance(layer, PackedLinear)]


def _fits(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32
