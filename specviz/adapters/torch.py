"""What specviz assumes about torch beyond its documented API.

Each assumption says what it is for, what happens when it no longer holds, and what is done instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

# What torch's own compiler emits for a linear layer with frozen weights; it has no documented name.
ONEDNN: Final[Any] = torch.ops.mkldnn


def pack_weights(weight: Tensor) -> Tensor:
    """A float32 weight (out, in) of the CPU, copied into the order in which oneDNN reads it.

    Raises AttributeError, RuntimeError or TypeError where torch no longer has it; the caller
    (`models.packed`) then leaves linear layers as they are, which is slower.
    """
    packed: Tensor = ONEDNN._reorder_linear_weight(weight, None)
    return packed


def packed_linear(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    """A linear layer with packed weights: (..., in) to (..., out). Raises as `pack_weights`."""
    out: Tensor = ONEDNN._linear_pointwise(rows, packed, bias, "none", [], "")
    return out


def packed_block(packed: Tensor) -> tuple[int, int]:
    """Where a packed weight lies in memory, and its bytes, padding included.

    Where torch no longer says, an address of its own and the bytes of its numbers: slightly less.
    """
    try:
        return int(ONEDNN.data_ptr(packed)), int(ONEDNN._nbytes(packed))
    except (AttributeError, RuntimeError, TypeError):
        return id(packed), packed.numel() * packed.element_size()


def has_bf16_instructions() -> bool:
    """Whether this x86 processor multiplies bfloat16 by instructions of its own.

    torch documents no such question. Newer releases have `torch.cpu.get_capabilities`, older ones
    private probes; where both are gone the answer is no, and bfloat16 is treated as slow.
    """
    ask: Callable[[], Mapping[str, Any]] | None = getattr(torch.cpu, "get_capabilities", None)
    if ask is not None:
        known = ask()
        return bool(known.get("avx512_bf16") or known.get("amx_bf16"))
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in probes)


def has_hooks(module: nn.Module) -> bool:
    """Whether hooks run before or after this module's forward.

    The dictionaries are private. Where they are gone a module counts as having hooks, so that
    nothing replaces it.
    """
    names = ("_forward_hooks", "_forward_pre_hooks")
    return any(bool(getattr(module, name, True)) for name in names)
