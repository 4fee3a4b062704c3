"""Uses of undocumented behaviour of torch.

Each function documents what happens if the behaviour changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import torch
from torch import Tensor, nn

# The operators that torch's compiler uses for a linear layer with frozen weights; undocumented.
ONEDNN: Final[Any] = torch.ops.mkldnn


def pack_weights(weight: Tensor) -> Tensor:
    """Copy a float32 weight (out, in) on the CPU into oneDNN's packed layout.

    Raises:
        AttributeError: torch no longer has this operator. The caller (`models.products`) then uses
            other backends, which are slower.
        RuntimeError: See AttributeError.
        TypeError: See AttributeError.
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
    """Return the address of a packed weight and its size in bytes, including padding.

    If torch no longer provides them, return a unique number as address, and the size without
    padding.
    """
    try:
        return int(ONEDNN.data_ptr(packed)), int(ONEDNN._nbytes(packed))
    except (AttributeError, RuntimeError, TypeError):
        return id(packed), packed.numel() * packed.element_size()


def has_bf16_instructions() -> bool:
    """Return whether this x86 processor has instructions for bfloat16 products.

    torch does not document such a function. Newer releases have `torch.cpu.get_capabilities`, older
    ones have private functions. If neither exists, the result is False, and bfloat16 is treated as
    slow.
    """
    query: Callable[[], Mapping[str, Any]] | None = getattr(torch.cpu, "get_capabilities", None)
    if query is not None:
        found = query()
        return bool(found.get("avx512_bf16") or found.get("amx_bf16"))
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in probes)


def has_hooks(module: nn.Module) -> bool:
    """Return whether hooks run before or after a module's forward.

    The dictionaries of hooks are private. If they no longer exist, the result is True, so that the
    module is not replaced.
    """
    names = ("_forward_hooks", "_forward_pre_hooks")
    return any(bool(getattr(module, name, True)) for name in names)


def mark_varying(tensor: Tensor, axis: int) -> None:
    """Tell torch's compiler that an axis of an input has a different length in other calls.

    If torch no longer provides this, each length is compiled on its own.
    """
    from torch import _dynamo  # slow to import, and needed on CUDA only

    mark = getattr(_dynamo, "maybe_mark_dynamic", None)
    if mark is not None:
        mark(tensor, axis)


def end_allocations(pool: Any) -> None:
    """Release the memory pool of a CUDA graph whose recording failed; pool: its handle.

    If the end of a recording raises an error, torch keeps allocating from its pool, and can free no
    cached memory and record nothing from then on (`CUDAGraph::capture_end`, up to 2.11 at least).
    Nothing is done if torch has ended it, or if these private functions no longer exist.
    """
    with suppress(AttributeError, RuntimeError):
        torch._C._cuda_endAllocateToPool(0, pool)
        torch._C._cuda_releasePool(0, pool)
