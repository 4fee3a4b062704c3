"""What specviz assumes about torch beyond its documented API.

Each assumption states its purpose, what happens when it no longer holds, and the alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

# The operators that torch's compiler uses for a linear layer with frozen weights; undocumented.
ONEDNN: Final[Any] = torch.ops.mkldnn


def pack_weights(weight: Tensor) -> Tensor:
    """Copy a float32 weight (out, in) on the CPU into the order in which oneDNN reads it.

    Raises:
        AttributeError: torch no longer has it. The caller (`models.products`) then does without it,
            which is slower.
        RuntimeError: As above.
        TypeError: As above.
    """
    packed: Tensor = ONEDNN._reorder_linear_weight(weight, None)
    return packed


def packed_linear(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    """Apply a linear layer with packed weights: (..., in) to (..., out).

    Raises as `pack_weights`.
    """
    out: Tensor = ONEDNN._linear_pointwise(rows, packed, bias, "none", [], "")
    return out


def packed_block(packed: Tensor) -> tuple[int, int]:
    """Return the address of a packed weight and its bytes, padding included.

    If torch no longer provides them, return a unique address and the bytes of its numbers: slightly
    less.
    """
    try:
        return int(ONEDNN.data_ptr(packed)), int(ONEDNN._nbytes(packed))
    except (AttributeError, RuntimeError, TypeError):
        return id(packed), packed.numel() * packed.element_size()


def has_bf16_instructions() -> bool:
    """Return whether this x86 processor has instructions for bfloat16 products.

    torch documents no such query. Newer releases have `torch.cpu.get_capabilities`, older ones
    private probes. If both are gone the result is False, and bfloat16 is treated as slow.
    """
    query: Callable[[], Mapping[str, Any]] | None = getattr(torch.cpu, "get_capabilities", None)
    if query is not None:
        found = query()
        return bool(found.get("avx512_bf16") or found.get("amx_bf16"))
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in probes)


def has_hooks(module: nn.Module) -> bool:
    """Return whether hooks run before or after this module's forward.

    The dictionaries are private. If they are gone, a module counts as having hooks, so that nothing
    replaces it.
    """
    names = ("_forward_hooks", "_forward_pre_hooks")
    return any(bool(getattr(module, name, True)) for name in names)
