"""Replace RMS norms by one kernel on a GPU, where models compute them in six or seven operations.

With a small model a GPU waits for its host to launch kernels, and a third of a Llama layer's
kernels are its two norms. Only a norm that is checked to compute the same function is replaced, and
none on a CPU.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from specviz.adapters.torch import has_hooks

TOLERANCE: Final = 1e-5  # of float32 sums computed in another order; relative and absolute


def fuse_norms(network: nn.Module, device: torch.device) -> int:
    """Replace every norm that equals torch's own, if CUDA runs it, and return how many were.

    Weights, their names and `state_dict` stay as they were.
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
    """Return torch's norm with this module's weight, or None if the module is something else."""
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
    """Return whether both compute the same for three rows, large, usual and small, in float32.

    Gemma's norm, for example, adds 1 to its weight.
    """
    assert other.weight is not None
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(3, len(other.weight), generator=generator)
    rows = (rows * torch.tensor([[100.0], [1.0], [0.01]])).to(other.weight.device)
    usual = other.weight.to(torch.float32)
    theirs = one(rows)
    ours = nn.functional.rms_norm(rows, other.normalized_shape, usual, other.eps)
    return theirs.shape == ours.shape and torch.allclose(
        theirs.float(), ours, rtol=TOLERANCE, atol=TOLERANCE
    )
