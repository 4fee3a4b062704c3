"""Mixture of Attentions: public tensor names, and files that are refused."""

from __future__ import annotations

import json

import headed
import pytest
import tiny
import torch
from moa_made import GREEDY, drafter, learnt, wild
from safetensors.torch import load_file, save_file

from specviz.drafters.moa import Moa
from specviz.drafters.moa.head import MoaConfig, MoaHead, kv_width
from specviz.models.checkpoint import check_made_for
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.target import Target

PARTS = ("layer_self_attention", "self_attention", "cross_attention")
NAMES = {
    f"{part}.{name}.weight"
    for part in PARTS
    for name in (
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
        "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "input_layernorm",
        "post_attention_layernorm",
    )
} | {"Ekv2E.weight", "Ekv2E.bias"}  # fmt: skip


@pytest.mark.slow
def test_saved_head_has_the_published_tensor_names_and_loads(tmp_path):
    target, head = headed.target(), learnt()[0]
    head.save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert set(tensors) == NAMES
    assert tensors["Ekv2E.weight"].shape == (48, 2 * 2 * 12)  # keys and values, 2 heads of 12
    made = Moa.load("my-moa", tmp_path, target)
    for name, value in head.state_dict().items():
        assert torch.equal(made.head.state_dict()[name], value.bfloat16().float())
    assert made.head.config == head.config
    assert (made.card.name, made.card.family, made.name) == ("my-moa", "moa", "moa")
    assert made.capture.keys_values == (1, 2, 3)
    assert not any(weight.requires_grad for weight in made.head.parameters())
    data = json.loads((tmp_path / "config.json").read_text())
    assert (data["model_type"], data["architectures"]) == ("moa_spec", ["MOASpecModel"])


def test_missing_attention_head_size_follows_from_the_width(tmp_path):
    head = wild(headed.target(), layer_self_attention_head_dim=0)
    assert head.layer_self_attention.self_attn.q_proj.weight.shape == (48, 48)
    head.save(tmp_path)
    data = json.loads((tmp_path / "config.json").read_text())
    del data["layer_self_attention_head_dim"], data["made_for"]
    (tmp_path / "config.json").write_text(json.dumps(data))
    back = MoaHead.load(tmp_path, headed.target())
    assert torch.equal(back.Ekv2E.bias, head.Ekv2E.bias.bfloat16().float())


@pytest.mark.parametrize(
    ("config", "tensors", "sentence"),
    [
        ({}, {"Ekv2E.bias": None}, r"lacks tensor: Ekv2E\.bias"),
        ({}, {"stranger.weight": torch.zeros(2)}, r"unexpected tensor: stranger\.weight"),
        ({}, {"Ekv2E.weight": torch.zeros(3, 5)}, r"Ekv2E\.weight is \(3, 5\)"),
        ({"kv_hidden_size": None}, {}, "lacks a key"),
        ({"kv_hidden_size": 64}, {}, "keys and values 64 wide.*are 48"),
        ({"hidden_size": 64}, {}, "states of width 64"),
        ({"vocab_size": 281}, {}, "knows 281 tokens"),
        ({"cross_attention_num_key_value_heads": 3}, {}, "heads of its cross_attention"),
        ({"self_attention_intermediate_size": "6"}, {}, "must be a whole number"),
        ({"target_layer_inference": 1}, {}, "target layer inference"),
        ({"disable_LSA": True}, {}, "without layer self-attention"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, {}, "scaled rotary"),
    ],
)
def test_unsupported_head_is_refused(tmp_path, config, tensors, sentence):
    learnt()[0].save(tmp_path)
    file, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    data = json.loads(file.read_text()) | config
    gone = {key for key, value in config.items() if value is None}
    file.write_text(json.dumps({key: value for key, value in data.items() if key not in gone}))
    changed = load_file(weights) | tensors
    save_file({key: value for key, value in changed.items() if value is not None}, weights)
    with pytest.raises(Unsuitable, match=sentence):
        MoaHead.load(tmp_path, headed.target())


def test_head_without_weights_is_not_available(tmp_path):
    learnt()[0].save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(NotAvailable):
        MoaHead.load(tmp_path, headed.target())


def test_head_for_another_target_is_refused():
    made = drafter()
    assert made.made_for == headed.HASH
    check_made_for("moa", made.made_for, "taught", headed.target().card.hash)
    with pytest.raises(Unsuitable, match="SHA-256"):
        check_made_for("moa", made.made_for, "other", "0" * 64)
    wider = tiny.target(tiny.llama(num_key_value_heads=4))
    with pytest.raises(Unsuitable, match="those of a layer of 'tiny' are 96"):
        made.begin(wider.start(made.capture), GREEDY)


@pytest.mark.slow
def test_new_moa_head_for_a_small_target_is_small():
    model = tiny.llama(
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=12,
        num_key_value_heads=4,
        vocab_size=4096,
    )
    target = Target(model, tiny.tokenizer(), tiny.card(model, "house", "causal-lm"))
    assert kv_width(model) == 512
    size = 2 * sum(p.numel() for p in MoaHead(MoaConfig.like(target)).parameters())
    assert 1.5e6 < size < 2.5e6
