"""Heads whose layers run in NumPy give the same numbers as their torch forward."""

from copy import deepcopy
from dataclasses import replace

import driven
import pytest
import torch
from torch import nn

from specviz.drafters.common.checkpoint import freeze_like
from specviz.drafters.common.features import FeatureReader, NumpyLayers, TorchLayers
from specviz.drafters.common.layers import Attention, Mlp, causal
from specviz.drafters.eagle.head import Eagle3Config, EagleConfig, EagleHead
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.models.passes import States

TAPS = (1, 2, 3)
GROUPED = {"num_key_value_heads": 2}
QWEN3 = GROUPED | {"head_norms": True, "biases": ("q_proj", "v_proj", "o_proj")}
SCALED = {"rope_scaling": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}}
HEADS = {
    "EAGLE": (EagleHead, EagleConfig, {}),
    "EAGLE, grouped queries, no bias": (EagleHead, EagleConfig, GROUPED | {"bias": False}),
    "EAGLE-3": (Eagle3Head, Eagle3Config, {}),
    "EAGLE-3 around a layer of Qwen3's kind": (Eagle3Head, Eagle3Config, QWEN3),
    "EAGLE-3, scaled positions": (Eagle3Head, Eagle3Config, SCALED),
    "EAGLE-3, normed residual": (Eagle3Head, Eagle3Config, {"norm_before_residual": True}),
    "EAGLE-3, normed output": (Eagle3Head, Eagle3Config, {"norm_output": True}),
    "EAGLE-3, normed taps": (Eagle3Head, Eagle3Config, {"fc_norm": True, "norm_before_fc": True}),
}


def heads(name, target):
    """Return the unchanged head and an optimized copy."""
    kind, config, changes = HEADS[name]
    own = {} if kind is EagleHead else {"draft_vocab_size": 100, "tap_layers": TAPS}
    torch.manual_seed(4)
    head = kind(replace(config.like(target, **own), **changes)).eval().requires_grad_(False)
    loud = 0.15 if kind is EagleHead else 0.4  # no norm bounds what EAGLE's attention reads
    for weight in head.parameters():
        weight.copy_(torch.randn_like(weight) * loud + (1.0 if weight.dim() == 1 else 0.0))
    ready = deepcopy(head)
    freeze_like(ready, target.model)
    return [head, ready]


def reader(head, target):
    if isinstance(head, Eagle3Head):
        return FeatureReader(
            head, target, lambda s: head.fuse(s.layers), head.logits_function(), "head"
        )
    project = target.model.get_output_embeddings()
    return FeatureReader(head, target, lambda s: s.final, project, "head")


def states(many, seed):
    made = torch.randn(4, many, 48, generator=torch.Generator().manual_seed(seed))
    return States(dict(zip(TAPS, made[:3], strict=True)), made[3])


@torch.inference_mode()
def scores(reader):
    """Return logits of a text, two levels of a tree, a dropped level, and a longer text."""
    found = []
    reader.add_states(states(5, 1), [3, 9, 27, 81, 4])
    found.append(reader.read_text(6))
    tokens, parents = [4, 7, 8, 11, 12, 13], [-1, 0, 0, 1, 2, 1]
    found.append(reader.read_level([1, 2], tokens, parents))
    found.append(reader.read_level([3, 4, 5], tokens, parents))
    reader.discard_from(3)
    found.append(reader.read_level([3], tokens, parents))
    reader.add_states(states(1, 2), [7])
    found.append(reader.read_text(7))
    found.append(reader.read_level([1], [7, 5], [-1, 0]))
    reader.add_states(states(2, 3), [5, 6])
    found.append(reader.read_text(9))
    return found


@pytest.mark.parametrize("name", HEADS)
def test_heads_give_the_same_logits_in_numpy_and_torch(name):
    target = driven.deep_target()
    usual, fast = (reader(head, target) for head in heads(name, target))
    assert isinstance(usual.layers, TorchLayers)
    assert isinstance(fast.layers, NumpyLayers)
    # Logits are up to 30 here, and processors differ in the order in which they add.
    for wanted, found in zip(scores(usual), scores(fast), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-3, rtol=2e-4)


@pytest.mark.parametrize("name", ["EAGLE-3", "EAGLE-3 around a layer of Qwen3's kind"])
def test_fused_attention_and_mlp_give_the_same_output_through_torch(name):
    """P-EAGLE and DFlash call the torch forward of the parts."""
    usual, fast = (head.midlayer for head in heads(name, driven.deep_target()))
    rows, positions = torch.randn(1, 4, 96), torch.arange(4)
    with torch.inference_mode():
        wanted = usual.self_attn(rows, positions, causal)
        found = fast.self_attn(rows, positions, causal)
        torch.testing.assert_close(found, wanted, atol=2e-4, rtol=2e-4)
        rows = rows[..., :48]
        torch.testing.assert_close(fast.mlp(rows), usual.mlp(rows), atol=2e-4, rtol=2e-4)


def test_weights_grouped_for_numpy_are_stored_once_and_let_gradients_through():
    _, fast = heads("EAGLE-3", driven.deep_target())
    for part in [m for m in fast.modules() if isinstance(m, Attention | Mlp)]:
        for group in part.product_groups():
            assert len({layer.weight.untyped_storage().data_ptr() for layer in group}) == 1
            assert all(type(layer) is nn.Linear for layer in group)
    layer, rows = fast.midlayer, torch.randn(1, 3, 48, requires_grad=True)
    layer.mlp(rows).sum().backward()
    both = torch.cat([rows, rows], dim=-1)
    layer.self_attn(both, torch.arange(3), causal).sum().backward()
    assert rows.grad.abs().sum() > 0
