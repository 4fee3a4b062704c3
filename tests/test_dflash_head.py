"""DFlash's network: training attention, learning, files, and refused configs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import headed
import pytest
import tiny
import torch
from dflash_made import SIZE, config, drafter, learned, random_head, trained
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig

from specviz.catalog import loading
from specviz.drafters.common.training import same_tops
from specviz.drafters.dflash import DFlash
from specviz.drafters.dflash import head as dflash_loss
from specviz.drafters.dflash.config import DFlashConfig, evenly_spaced
from specviz.drafters.dflash.head import DFlashHead
from specviz.models.checkpoint import check_made_for
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.settings.settings import Settings

ANCHORS = torch.tensor([2, 7, 8, 30])


def blocks(head, outputs, anchors=ANCHORS):
    with torch.inference_mode():
        return dflash_loss.blocks(head, outputs, anchors)


# Training


def test_block_attends_to_states_before_its_anchor_and_to_no_other_block():
    head, outputs = random_head(), headed.outputs(1)
    whole = blocks(head, outputs)
    assert whole.shape == (16, 4, SIZE - 1, tiny.VOCABULARY)
    for i, anchor in enumerate(ANCHORS):
        alone = blocks(head, outputs, anchor[None])
        assert torch.allclose(whole[:, i], alone[:, 0], atol=1e-4)
    for place in (6, 7):
        states = tuple(rows.clone() for rows in outputs.states)
        for rows in states:
            rows[:, place] = torch.randn_like(rows[:, place])
        found = blocks(head, replace(outputs, states=states))
        changed = [not torch.allclose(found[:, i], whole[:, i], atol=1e-4) for i in range(4)]
        assert changed == [False, place < 7, True, True]
        tokens = outputs.tokens.clone()
        tokens[:, place] = (tokens[:, place] + 9) % tiny.VOCABULARY
        found = blocks(head, replace(outputs, tokens=tokens))
        changed = [not torch.allclose(found[:, i], whole[:, i], atol=1e-4) for i in range(4)]
        assert changed == [False, place == 7, False, False]


def test_loss_is_the_mean_weighted_by_position():
    head, outputs = random_head(), headed.outputs(2)
    anchors = torch.tensor([3, 36, 39])  # of 40 tokens: five positions, four, one
    said, total, weights = blocks(head, outputs, anchors).log_softmax(-1), 0.0, 0.0
    for text in range(16):
        for i, (anchor, places) in enumerate(zip(anchors.tolist(), (5, 4, 1), strict=True)):
            for k in range(1, places + 1):
                law = outputs.logits[text, anchor + k - 1].softmax(-1)
                weight = math.exp(-(k - 1) / 4)
                total -= weight * (law * said[text, i, k - 1]).sum().item()
                weights += weight
    with torch.inference_mode():
        loss = dflash_loss.loss(head, outputs, anchors).item()
    assert loss == pytest.approx(total / weights, rel=1e-4)


def test_training_row_of_each_anchor_guesses_the_block_after_it():
    head, outputs = random_head(), headed.outputs(3)
    with torch.inference_mode():
        said = dflash_loss.guesses(head, outputs)
    assert [tuple(logits.shape) for logits in said] == [(16, 39, tiny.VOCABULARY)] * (SIZE - 1)
    for i, anchor in enumerate(ANCHORS):
        by_depth = torch.stack([logits[:, anchor - 1] for logits in said], dim=1)
        assert torch.allclose(by_depth, blocks(head, outputs)[:, i], atol=1e-4)


def test_random_anchors_use_the_torch_generator_and_skip_the_first_token(monkeypatch):
    head, outputs = random_head(), headed.outputs(4)
    monkeypatch.setattr(dflash_loss, "ANCHORS", 10)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(dflash_loss.random_anchors(outputs).tolist())
        torch.manual_seed(seed)
        assert dflash_loss.loss(head, outputs).isfinite()
        assert len(set(drawn[-1])) == 10
        assert drawn[-1] == sorted(drawn[-1])
    assert drawn[0] == drawn[1] != drawn[2]
    monkeypatch.setattr(dflash_loss, "ANCHORS", 64)
    assert dflash_loss.random_anchors(outputs).tolist() == list(range(1, 40))
    for length in (2, 3):  # shorter than a block
        short = headed.read_target_outputs(headed.target().model, outputs.tokens[:, :length])
        assert dflash_loss.loss(head, short).isfinite()


@pytest.mark.slow
def test_training_updates_every_weight_and_lowers_loss():
    losses = []
    head = learned(40, losses)
    assert max(losses[-5:]) < losses[0] / 2
    assert max(losses[-5:]) < min(losses[:5])
    first = learned(0).state_dict()
    assert not any(torch.equal(first[key], value) for key, value in head.state_dict().items())
    assert all(weight.grad is None for weight in headed.target().model.parameters())
    outputs = headed.outputs(50)  # never trained on
    shares = same_tops(dflash_loss.guesses(trained(), outputs), outputs)
    common = outputs.logits.argmax(-1).flatten()
    chance = (common == common.mode().values).float().mean().item()
    assert shares[0] > 3 * chance
    assert min(shares) > chance
    assert shares[0] > shares[-1]


@pytest.mark.slow
def test_hidden_states_shifted_by_one_raise_the_loss():
    outputs = headed.outputs(50)
    late = tuple(torch.cat([rows[:, :1], rows[:, :-1]], dim=1) for rows in outputs.states)
    early = tuple(torch.cat([rows[:, 1:], rows[:, -1:]], dim=1) for rows in outputs.states)
    anchors = torch.arange(1, 40)
    with torch.inference_mode():
        right, *wrong = (
            dflash_loss.loss(trained(), replace(outputs, states=states), anchors).item()
            for states in (outputs.states, late, early)
        )
    assert min(wrong) > right + 0.5


# Files


NAMES = {
    "fc.weight", "hidden_norm.weight", "norm.weight",
    *(
        f"layers.{layer}.{part}.weight"
        for layer in (0, 1)
        for part in (
            "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
            "self_attn.q_norm", "self_attn.k_norm", "mlp.gate_proj", "mlp.up_proj",
            "mlp.down_proj", "input_layernorm", "post_attention_layernorm",
        )
    ),
}  # fmt: skip


def test_saved_head_has_the_published_tensor_names_and_loads(tmp_path):
    trained().save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert set(tensors) == NAMES
    assert tensors["fc.weight"].shape == (48, 96)
    assert tensors["layers.1.self_attn.k_proj.weight"].shape == (12, 48)  # one head of four
    data = json.loads((tmp_path / "config.json").read_text())
    assert data["architectures"] == ["DFlashDraftModel"]
    assert data["dflash_config"] == {"mask_token_id": 0, "target_layer_ids": [0, 1]}
    assert (data["block_size"], data["num_target_layers"], data["num_hidden_layers"]) == (6, 3, 2)
    assert data["made_for"] == headed.HASH
    loaded = DFlashHead.load(tmp_path, headed.target())
    assert loaded.config == trained().config
    for key, value in trained().state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value.bfloat16().float())
    assert not any(weight.requires_grad for weight in loaded.parameters())


def public(**changes):
    """Return a config.json in z-lab's form for the target with three layers."""
    inner = {"mask_token_id": 9, "target_layer_ids": [0, 1]}
    usual = {
        "architectures": ["DFlashDraftModel"], "attention_bias": False, "attention_dropout": 0.0,
        "auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "block_size": 16,
        "dflash_config": inner, "dtype": "bfloat16", "head_dim": 12, "hidden_act": "silu",
        "hidden_size": 48, "intermediate_size": 64, "layer_types": ["full_attention"] * 2,
        "model_type": "qwen3", "num_attention_heads": 4, "num_hidden_layers": 2,
        "num_key_value_heads": 2, "num_target_layers": 3, "rms_norm_eps": 1e-6,
        "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None,
        "use_sliding_window": False, "vocab_size": tiny.VOCABULARY,
    }  # fmt: skip
    return usual | changes


def test_published_configs_load_whether_nested_or_flat():
    wanted = DFlashConfig(
        48, 64, 4, 2, 12, 280, 1e-6, 1e6, num_hidden_layers=2, num_target_layers=3, block_size=16,
        mask_token_id=9, target_layer_ids=(0, 1),
    )  # fmt: skip
    assert DFlashConfig.from_json("x", public()) == wanted
    flat = {"mask_token_id": 9, "target_layer_ids": [0, 1], "dflash_config": None}
    assert DFlashConfig.from_json("x", public(**flat)) == wanted
    inner = {"mask_token_id": 9, "target_layer_ids": [0, 1], "block_size": 16}
    assert DFlashConfig.from_json("x", public(block_size=None, dflash_config=inner)) == wanted
    assert wanted.tap_layers == (1, 2)
    assert DFlashConfig.from_json("x", json.loads(json.dumps(wanted.to_json()))) == wanted


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"architectures": ["Qwen3DSparkModel"]}, "is a Qwen3DSparkModel"),
        ({"architectures": ["DFlash2DraftModel"]}, "is a DFlash2DraftModel"),
        ({"architectures": ["LiLiCorrDraftModel"]}, "is a LiLiCorrDraftModel"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
        ({"is_causal": True}, "sets is_causal"),
        ({"attention_bias": True}, "sets attention_bias"),
        ({"dflash_config": {"mask_token_id": 9}}, "gives no target_layer_ids"),
        ({"dflash_config": {"target_layer_ids": [0]}}, "gives no mask_token_id"),
        ({"dflash_config": [0]}, "not a JSON object"),
        ({"dflash_config": {"mask_token_id": 280, "target_layer_ids": [0]}}, "mask_token_id, 280"),
        ({"dflash_config": {"mask_token_id": 9, "target_layer_ids": [1, 0]}}, "no rising"),
        ({"dflash_config": {"mask_token_id": 9, "target_layer_ids": [-1, 0]}}, "no rising"),
        ({"dflash_config": {"mask_token_id": 9, "target_layer_ids": []}}, "no rising"),
        ({"dflash_config": {"mask_token_id": 9, "target_layer_ids": [1, 2]}}, "all but the last"),
        ({"block_size": 1}, "block_size must be at least 2"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1"),
        ({"num_target_layers": 4}, "target of 4 layers"),
        ({"hidden_size": 64}, "width 64"),
        ({"vocab_size": 281}, "knows 281 tokens"),
    ],
)
def test_unsupported_head_is_refused(tmp_path, changes, sentence):
    trained().save(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(public(**changes)))
    with pytest.raises(Unsuitable, match=sentence):
        DFlashHead.load(tmp_path, headed.target())


def test_error_names_the_tensor_that_does_not_fit(tmp_path):
    trained().save(tmp_path)
    file = tmp_path / "model.safetensors"
    whole = load_file(file)
    damaged = [
        ({k: v for k, v in whole.items() if k != "hidden_norm.weight"}, r"lacks.*hidden_norm"),
        (whole | {"embed_tokens.weight": torch.zeros(2)}, r"unexpected tensor: embed_tokens"),
        (whole | {"fc.weight": torch.zeros(48, 48)}, r"fc\.weight is \(48, 48\)"),
    ]
    for tensors, named in damaged:
        save_file(tensors, file)
        with pytest.raises(Unsuitable, match=named):
            DFlashHead.load(tmp_path, headed.target())
    file.unlink()
    with pytest.raises(NotAvailable):
        DFlashHead.load(tmp_path, headed.target())


def test_head_for_another_target_is_refused():
    made = drafter()
    check_made_for("dflash", made.made_for, "taught", headed.HASH)
    with pytest.raises(Unsuitable, match="dflash"):
        check_made_for("dflash", made.made_for, "other", "e" * 64)
    for other in (tiny.llama(), tiny.llama(hidden_size=32, num_hidden_layers=3)):
        with pytest.raises(Unsuitable, match="tiny-dflash"):
            made.begin(tiny.target(other).start(made.capture), Settings())


def test_new_dflash_head_for_a_small_target_is_small_and_built_by_name():
    shape = LlamaConfig(
        hidden_size=256, intermediate_size=704, num_hidden_layers=12, num_attention_heads=4
    )
    target = SimpleNamespace(
        model=SimpleNamespace(config=shape), eos=(3,), vocab_size=8192,
        card=SimpleNamespace(hash="a" * 64),
    )  # fmt: skip
    with torch.device("meta"):
        head = loading.training_family("dflash").build(target, torch.ones(8192))
    assert isinstance(head, DFlashHead)
    assert 1.5e6 < 2 * sum(weight.numel() for weight in head.parameters()) < 2.5e6  # in bf16
    assert (head.config.block_size, head.config.mask_token_id) == (8, 3)
    assert DFlash(head, None).capture.layers == (2, 6, 10)
    assert head.config.made_for == "a" * 64
    assert config().num_target_layers == 3


@pytest.mark.parametrize("layers", range(2, 40))
def test_tapped_layers_are_spaced_as_in_the_published_code(layers):
    taps = evenly_spaced(layers, 3)
    assert taps == tuple(sorted(set(taps)))
    assert 0 <= taps[0] <= taps[-1] < layers - 1
    if layers > 5:
        middle = round(1 + (layers - 4) / 2)
        assert taps == (1, middle, layers - 3)
