"""Files of all heads: published names, values after a round trip, and folders that are refused."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from functools import cache

import dflash_made
import driven
import headed
import moa_made
import pytest
import test_dflash2
import test_dspark
import test_eagle
import test_jetspec
import test_p_eagle
import tiny
import torch
from driven import GONE, write_head
from safetensors.torch import load_file

from specviz.drafters.blockwise import Blockwise
from specviz.drafters.common.checkpoint import layout_in
from specviz.drafters.dflash import DFlash
from specviz.drafters.dflash2 import DFlash2
from specviz.drafters.dspark import DSpark
from specviz.drafters.eagle import Eagle, Eagle3
from specviz.drafters.eagle.parallel import PEagle
from specviz.drafters.jetspec import JetSpec
from specviz.drafters.lmtp import LeapMTP
from specviz.drafters.medusa import Medusa
from specviz.drafters.moa import Moa
from specviz.drafters.mtp import MTP
from specviz.drafters.mtp_parallel import ParallelMTP
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.settings.settings import Settings

pytestmark = pytest.mark.slow

DRAFTERS = {
    made.name: made
    for made in (
        Blockwise, DFlash, DFlash2, DSpark, Eagle, Eagle3, JetSpec, LeapMTP, Medusa, Moa, MTP,
        PEagle, ParallelMTP,
    )
}  # fmt: skip


@cache
def target_of(family):
    return driven.deep_target() if "eagle" in family else headed.target()


@cache
def head_of(family):
    """Return a head with random weights."""
    target = target_of(family)
    if family in headed.HEADS:
        return tiny.blurred(
            headed.HEADS[family].new(headed.CONFIGS[family], target.model).requires_grad_(False)
        )
    make = {
        "eagle": driven.random_head,
        "eagle3": test_eagle.random_head3,
        "p-eagle": test_p_eagle.random_head,
        "moa": moa_made.wild,
        "dflash": lambda _: dflash_made.random_head(),
        "dspark": lambda _: test_dspark.random_head(),
        "dflash2": lambda _: test_dflash2.random_head(),
        "jetspec": lambda _: test_jetspec.random_head(),
    }
    return make[family](target)


ATTENTION = [f"self_attn.{name}_proj" for name in "qkvo"]
LAYER = [*ATTENTION, "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "post_attention_layernorm"]
WHOLE = [*LAYER, "input_layernorm"]
DFLASH = [
    "fc", "norm", "hidden_norm",
    *(f"layers.{i}.{part}" for i in (0, 1) for part in WHOLE),
    *(f"layers.{i}.self_attn.{part}_norm" for i in (0, 1) for part in "qk"),
]  # fmt: skip
PARALLEL = [f"attention.w{name}" for name in "qkvo"]  # as in Meta's checkpoints
PARALLEL += [*(f"feed_forward.w{n}" for n in (1, 2, 3)), "ffn_norm", "attention_norm"]
MOA_LAYERS = ("layer_self_attention", "self_attention", "cross_attention")
NAMES = {
    "eagle": ["fc", *(f"layers.0.{part}" for part in LAYER)],
    "eagle3": ["fc", "norm", "lm_head", *(f"midlayer.{p}" for p in (*WHOLE, "hidden_norm"))],
    "moa": ["Ekv2E", *(f"{layer}.{part}" for layer in MOA_LAYERS for part in WHOLE)],
    "dflash": DFLASH,
    "mtp": [
        f"model.layers.{headed.LAYERS}.{part}"
        for part in ("enorm", "hnorm", "eh_proj", "shared_head.norm", *WHOLE)
    ],
    "mtp-parallel": [f"extra_heads.{i}.{part}" for i in range(3) for part in PARALLEL],
}
MORE = {"eagle": {"fc.bias"}, "eagle3": {"d2t", "t2d"}, "moa": {"Ekv2E.bias"}}
SHAPES = {
    "eagle3": {"midlayer.self_attn.q_proj": (48, 96), "fc": (48, 144)},
    "moa": {"Ekv2E": (48, 2 * 2 * 12)},  # keys and values, 2 heads of 12
    "dflash": {"fc": (48, 96), "layers.1.self_attn.k_proj": (12, 48)},  # one head of four
}
CONFIGS = {
    "moa": {"model_type": "moa_spec", "architectures": ["MOASpecModel"]},
    "dflash": {
        "architectures": ["DFlashDraftModel"], "num_hidden_layers": 2, "num_target_layers": 3,
        "dflash_config": {"mask_token_id": 0, "target_layer_ids": [0, 1]}, "block_size": 6,
        "made_for": headed.HASH,
    },
    "dflash2": {
        "architectures": ["DFlash2DraftModel"],
        "dflash_config": {
            "mask_token_id": 0, "target_layer_ids": [0, 1], "conv_kernel_size": 2,
            "conv_group_size": 4, "selector_rank": 6, "selector_top_k": 5,
        },
    },
    "jetspec": {
        "architectures": ["DFlashDraftModel"],
        "dflash_config": {"mask_token_id": 0, "target_layer_ids": [0, 1], "causal_head": True},
    },
    "p-eagle": {
        "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 2, "pard_token": 0,
        "mask_token_id": 0,
    },
}  # fmt: skip


@pytest.mark.parametrize("family", DRAFTERS)
def test_saved_head_has_the_published_tensor_names_and_loads_unchanged(family, tmp_path):
    head = head_of(family)
    head.save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    if family in NAMES:
        assert set(tensors) == {f"{name}.weight" for name in NAMES[family]} | MORE.get(
            family, set()
        )
    for name, shape in SHAPES.get(family, {}).items():
        assert tensors[f"{name}.weight"].shape == shape
    config = json.loads((tmp_path / "config.json").read_text())
    assert config | CONFIGS.get(family, {}) == config
    assert layout_in(tmp_path).family == family
    made = DRAFTERS[family].load("mine", tmp_path, target_of(family))
    assert (made.name, made.card.name, made.card.family) == (family, "mine", family)
    assert made.head.config == head.config
    assert made.made_for == head.config.made_for
    assert made.card.parameters == sum(weight.numel() for weight in head.parameters())
    assert made.card.bytes > 2 * made.card.parameters
    found = made.head.state_dict()
    assert list(found) == list(head.state_dict())
    for name, value in head.state_dict().items():
        stored = value.bfloat16().float() if value.is_floating_point() else value
        assert torch.equal(found[name], stored), name
    assert not any(weight.requires_grad for weight in made.head.parameters())


CHANGED = {
    "eagle": "fc.bias", "eagle3": "midlayer.hidden_norm.weight", "dflash": "hidden_norm.weight",
    "moa": "Ekv2E.bias", "dspark": "confidence_head.proj.bias", "p-eagle": "mask_hidden",
}  # fmt: skip


@pytest.mark.parametrize("family", DRAFTERS)
def test_error_names_the_tensor_that_does_not_fit(family, tmp_path):
    network, head, target = DRAFTERS[family].network, head_of(family), target_of(family)
    with pytest.raises(NotAvailable):
        network.load(tmp_path, target)
    head.save(tmp_path)
    first = CHANGED.get(family) or min(load_file(tmp_path / "model.safetensors"))
    for name, value in ((first, GONE), (first, torch.zeros(3, 5)), ("stranger", torch.ones(2))):
        write_head(tmp_path, head, tensors={name: value})
        with pytest.raises(Unsuitable, match=name.replace(".", r"\.")):
            network.load(tmp_path, target)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(NotAvailable):
        network.load(tmp_path, target)


def taps(*layers, mask=9):
    return {"dflash_config": {"mask_token_id": mask, "target_layer_ids": list(layers)}}


REFUSED = [
    ("eagle", {"num_hidden_layers": 2}, "."),
    ("eagle", {"hidden_act": "gelu"}, "."),
    ("eagle", {"rope_scaling": {"rope_type": "dynamic", "factor": 8.0}}, "."),
    ("eagle", {"hidden_size": None}, "."),
    ("eagle3", {"tap_layers": [0, 1, 2]}, "taps layers"),
    ("eagle3", {"tap_layers": [1, 2, 5]}, "has 1 to 4"),
    (
        "eagle3",
        {"tap_layers": GONE, "eagle_aux_hidden_state_layer_ids": [1, 2, 3]},
        "differs by one",
    ),
    ("eagle3", {"draft_vocab_size": 281}, "draft_vocab_size"),
    ("eagle3", {"draft_vocab_size": 99}, "lm_head.weight|d2t"),
    ("moa", {"kv_hidden_size": GONE}, "lacks a key"),
    ("moa", {"kv_hidden_size": 64}, "keys and values 64 wide.*are 48"),
    ("moa", {"hidden_size": 64}, "states of width 64"),
    ("moa", {"vocab_size": 281}, "knows 281 tokens"),
    ("moa", {"cross_attention_num_key_value_heads": 3}, "heads of its cross_attention"),
    ("moa", {"self_attention_intermediate_size": "6"}, "must be a whole number"),
    ("moa", {"target_layer_inference": 1}, "target layer inference"),
    ("moa", {"disable_LSA": True}, "without layer self-attention"),
    ("moa", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "scaled rotary"),
    ("dflash", {"architectures": ["Qwen3DSparkModel"]}, "is a Qwen3DSparkModel"),
    ("dflash", {"architectures": ["DFlash2DraftModel"]}, "is a DFlash2DraftModel"),
    ("dflash", {"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
    ("dflash", {"is_causal": True}, "sets is_causal"),
    ("dflash", {"attention_bias": True}, "sets attention_bias"),
    ("dflash", {"dflash_config": {"mask_token_id": 9}}, "gives no target_layer_ids"),
    ("dflash", {"dflash_config": {"target_layer_ids": [0]}}, "gives no mask_token_id"),
    ("dflash", {"dflash_config": [0]}, "not a JSON object"),
    ("dflash", taps(0, mask=280), "mask_token_id, 280"),
    ("dflash", taps(1, 0), "no rising"),
    ("dflash", taps(-1, 0), "no rising"),
    ("dflash", taps(), "no rising"),
    ("dflash", taps(1, 2), "all but the last"),
    ("dflash", {"block_size": 1}, "block_size must be at least 2"),
    ("dflash", {"num_hidden_layers": 0}, "num_hidden_layers must be at least 1"),
    ("dflash", {"num_target_layers": 4}, "target of 4 layers"),
    ("dflash", {"hidden_size": 64}, "width 64"),
    ("dflash", {"vocab_size": 281}, "knows 281 tokens"),
    *(("medusa", {"medusa_num_layers": n}, "medusa_num_layers") for n in ("two", 0, None, True)),
    ("mtp", {"num_hidden_layers": 7}, "a target of 7 layers; 'taught' has 3"),
]


@pytest.mark.parametrize(("family", "config", "sentence"), REFUSED)
def test_config_that_is_not_supported_is_refused(family, config, sentence, tmp_path):
    write_head(tmp_path, head_of(family), config)
    with pytest.raises(Unsuitable, match=sentence):
        DRAFTERS[family].network.load(tmp_path, target_of(family))


@pytest.mark.parametrize(
    ("method", "config", "tensor"),
    [
        ("XPress", {"architectures": ["Qwen3XPressModel"]}, None),
        ("XPress", {"speculators_model_type": "xpress", "architectures": GONE}, None),
        ("XPress", {"xpress_rank": 256}, None),
        ("XPress", {}, "xpress_head.mix.L"),
        ("LiLiCorr", {"architectures": ["LiLiCorrDraftModel"]}, None),
        ("LiLiCorr", {"dflash_config": {"lilicorr_num_layers": 2}}, None),
        ("LiLiCorr", {}, "lilicorr.layers.0.weight"),
    ],
)
def test_method_that_is_not_supported_is_recognised_and_refused(method, config, tensor, tmp_path):
    tensors = {tensor: torch.ones(2)} if tensor else {}
    write_head(tmp_path, head_of("dflash"), config, tensors)
    for read in (layout_in, lambda folder: DFlash.network.load(folder, target_of("dflash"))):
        with pytest.raises(Unsuitable, match=rf"^'.*' is a head of {method}, which .*\.$"):
            read(tmp_path)


def test_word_that_contains_the_name_of_a_method_is_no_such_head(tmp_path):
    write_head(tmp_path, head_of("dflash"), {"expression": None})
    assert layout_in(tmp_path).family == "dflash"


@pytest.mark.parametrize("values", [torch.zeros(100, dtype=torch.long), torch.full((100,), 250)])
def test_draft_vocabulary_that_contradicts_itself_is_refused(values, tmp_path):
    write_head(tmp_path, head_of("eagle3"), tensors={"d2t": values})
    with pytest.raises(Unsuitable, match="d2t and t2d"):
        Eagle3.network.load(tmp_path, target_of("eagle3"))


def test_head_for_another_target_is_refused(tmp_path):
    for family, made in DRAFTERS.items():
        head_of(family).save(tmp_path)
        other = copy(target_of(family))
        other.card = replace(other.card, hash="0" * 64)
        if head_of(family).config.made_for:
            with pytest.raises(Unsuitable, match="SHA-256"):
                made.load("mine", tmp_path, other)


@pytest.mark.parametrize(
    ("family", "shape", "sentence"),
    [
        ("eagle", {"hidden_size": 64}, "width 48"),
        ("moa", {"num_key_value_heads": 4}, "those of a layer of 'tiny' are 96"),
        ("dflash", {}, "mine"),
        ("dflash", {"hidden_size": 32, "num_hidden_layers": 3}, "mine"),
    ],
)
def test_target_of_another_shape_is_refused(family, shape, sentence, tmp_path):
    head_of(family).save(tmp_path)
    made = DRAFTERS[family].load("mine", tmp_path, target_of(family))
    other = tiny.target(tiny.llama(**shape))
    with pytest.raises(Unsuitable, match=sentence):
        made.begin(other.start(made.capture), Settings())
    if shape:
        with pytest.raises(Unsuitable):
            made.network.load(tmp_path, other)
