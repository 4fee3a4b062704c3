"""Root-mean-square norms as one kernel on a GPU, where models write them as six or seven ops.

A small model on a GPU waits for its host to launch kernels, and a third of a Llama layer's are its
two norms. Rule: only a norm that is seen to be that very function is exchanged; on a CPU none is.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from specviz.adapters.torch import has_hooks

NEAR: Final = 1e-5  # relative: how far float32 lets two orders of the same sums come apart


def fuse_norms(network: nn.Module, device: torch.device) -> int:
    """Put torch's own norm in the place of each that equals it, if CUDA runs it; how many.

    Weights, their names and what `state_dict` gives stay as they were.
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
    """Torch's norm with this module's weight; None where the module is something else."""
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    weight = getattr(module, "weight", None)
    if not isinstance(eps, float) or not isinstance(weight, Tensor) or weight.dim() != 1:
        return None
    if isinstance(module, nn.RMSNorm) or len(list(module.parameters())) != 1:
        return None
    if has_hooks(module):  # it is one of several processes' part
        return None
    made = nn.RMSNorm(len(weight), eps, device="meta")
    made.weight = nn.Parameter(weight, requires_grad=False)
    return made if _same(module, made) else None


@torch.inference_mode()
def _same(one: nn.Module, other: nn.RMSNorm) -> bool:
    """Whether both give the same of three rows, large, usual and small, in float32.

    Gemma's, for one, adds 1 to its weight.
    """
    assert other.weight is not None
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(3, len(other.weight), generator=generator)
    rows = (rows * torch.tensor([[100.0], [1.0], [0.01]])).to(other.weight.device)
    usual = other.weight.to(torch.float32)
    theirs = one(rows)
    ours = nn.functional.rms_norm(rows, other.normalized_shape, usual, other.eps)
    return theirs.shape == ours.shape and torch.allclose(theirs.float(), ours, rtol=NEAR, atol=NEAR)
