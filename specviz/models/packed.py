"""Linear layers that keep their weights in the order in which oneDNN reads them, on a CPU.

Why: to multiply a few rows, the usual product copies the weights into such an order at every call,
which costs more than the product. Checking ten guesses then takes half again as long as one token,
though the weights, which are what a pass waits for, are the same. Packed once, both take nearly
the same time; `python -m specviz sweep` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor, nn

# What torch's own compiler makes of a linear layer whose weights are frozen; it has no public name.
ONEDNN: Final[Any] = torch.ops.mkldnn
MOST_BYTES: Final = 1 << 31  # weights stay in memory twice, which a larger model may not afford


class PackedLinear(nn.Linear):
    """A linear layer that will not be trained: its weights must not change once they are packed."""

    packed: Tensor

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out); the usual product where gradients flow through it."""
        if torch.is_grad_enabled():
            return super().forward(input)
        out: Tensor = ONEDNN._linear_pointwise(input, self.packed, self.bias, "none", [], "")
        return out

    def pack(self) -> None:
        """Copy the weights into oneDNN's order."""
        with torch.inference_mode():
            self.packed = ONEDNN._reorder_linear_weight(self.weight.detach(), None)


def pack(model: nn.Module) -> None:
    """Pack a model's linear layers in place, where that is possible and the copy not too large.

    Only on a CPU and in float32: GPUs and low precision have products of their own that do it.
    """
    layers = [layer for layer in model.modules() if type(layer) is nn.Linear]
    size = sum(layer.weight.nbytes for layer in layers)
    ready = all(_fits(layer.weight) for layer in layers)
    if not (ready and size <= MOST_BYTES and can_pack()):
        return
    for layer in layers:
        layer.__class__ = PackedLinear
        assert isinstance(layer, PackedLinear)
        layer.pack()


@contextmanager
def unpacked(*models: nn.Module) -> Iterator[None]:
    """The usual products again for a while, in all threads: what a model costs where nobody packs.

    For measurements; nothing is copied.
    """
    layers = [layer for model in models for layer in _packed(model)]
    for layer in layers:
        layer.__class__ = nn.Linear
    try:
        yield
    finally:
        for layer in layers:
            layer.__class__ = PackedLinear


def is_packed(model: nn.Module) -> bool:
    """Whether a model has layers that are packed."""
    return bool(_packed(model))


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


def _packed(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if isinstance(layer, PackedLinear)]


def _fits(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32
