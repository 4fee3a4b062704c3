"""Fused norms: only equivalent norms are replaced, and nothing else changes."""

from __future__ import annotations

import pytest
import tiny
import torch
from torch import nn
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from specviz.models.fast_layers import fuse_norms

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


def holder(norm):
    """Return a network with this norm and random norm weights."""
    norm.weight.data = torch.linspace(-2, 3, len(norm.weight))
    return nn.Sequential(norm).eval().requires_grad_(False)


def test_llama_on_gpu_has_fused_norms_and_same_logits():
    model = tiny.llama()
    ids = torch.arange(1, 20)[None]
    before, names = model(ids).logits, list(model.state_dict())
    assert fuse_norms(model, GPU) == 2 * model.config.num_hidden_layers + 1
    assert not any(isinstance(module, LlamaRMSNorm) for module in model.modules())
    torch.testing.assert_close(model(ids).logits, before, rtol=1e-4, atol=1e-5)
    assert list(model.state_dict()) == names


def test_norms_are_unchanged_on_cpu():
    model = tiny.llama()
    assert fuse_norms(model, CPU) == 0
    assert sum(isinstance(module, LlamaRMSNorm) for module in model.modules()) > 0


@pytest.mark.parametrize(
    "norm",
    [GemmaRMSNorm(8, 1e-6), nn.LayerNorm(8, 1e-6, bias=False), nn.LayerNorm(8, 1e-6)],
    ids=["one is added to the weight", "the mean is taken away", "there is a bias"],
)
def test_norms_that_are_not_equivalent_are_unchanged(norm):
    network = holder(norm)
    assert fuse_norms(network, GPU) == 0
    assert network[0] is norm


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fused_norm_differs_only_by_rounding(dtype):
    network = holder(LlamaRMSNorm(16, 1e-5)).to(dtype)
    rows = torch.randn(4, 16, generator=torch.Generator().manual_seed(3)).to(dtype)
    before = network(rows)
    assert fuse_norms(network, GPU) == 1
    after = network(rows)
    assert after.dtype == dtype
    error = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(after, before, rtol=error, atol=error)
