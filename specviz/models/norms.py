"""Compute each RMS norm in one kernel on a GPU, instead of in six or seven.

With a small model, a GPU waits for its host to launch kernels, and a third of a Llama layer's
kernels belong to its two norms. A norm is replaced only if a test shows that it computes the same
function, and only on a GPU.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from specviz.adapters.torch import has_hooks

TOLERANCE: Final = 1e-5  # relative and absolute: float32 sums in another order differ


def fuse_norms(network: nn.Module, device: torch.device) -> int:
    """On a CUDA device, replace every norm that equals torch's; return how many were replaced.

    Weights, their names and `state_dict` do not change.
    """
    if device.type != "cuda":
        return 0
    found = [
        (parent, name, fused)
        for parent in network.modules()
        for name, module in parent.named_children()
        if (fused := _fused(module)) is not None
    ]
    for parent, name, fused in found:
        setattr(parent, name, fused)
    return len(found)


def _fused(module: nn.Module) -> nn.RMSNorm | None:
    """Return torch's norm with this module's weight, or None if it computes something else."""
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    weight = getattr(module, "weight", None)
    if not isinstance(eps, float) or not isinstance(weight, Tensor) or weight.dim() != 1:
        return None
    if isinstance(module, nn.RMSNorm) or len(list(module.parameters())) != 1:
        return None
    if has_hooks(module):  # such as those of a module that is split over processes
        return None
    made = nn.RMSNorm(len(weight), eps, device="meta")
    made.weight = nn.Parameter(weight, requires_grad=False)
    return made if _same(module, made) else None


@torch.inference_mode()
def _same(one: nn.Module, other: nn.RMSNorm) -> bool:
    """Return whether both give equal results for a large, a medium and a small row in float32.

    They differ for Gemma's norm, for example, which adds 1 to its weight.
    """
    assert other.weight is not None
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(3, len(other.weight), generator=generator)
    rows = (rows * torch.tensor([[100.0], [1.0], [0.01]])).to(other.weight.device)
    weight = other.weight.to(torch.float32)
    theirs = one(rows)
    ours = nn.functional.rms_norm(rows, other.normalized_shape, weight, other.eps)
    return theirs.shape == ours.shape and torch.allclose(
        theirs.float(), ours, rtol=TOLERANCE, atol=TOLERANCE
    )
