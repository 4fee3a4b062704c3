"""What a head's config.json may ask for: computed, harmless, or refused by name."""

from __future__ import annotations

import json

import published
import pytest
from published import DFLASH, LAYERS, PUBLISHED, WIDE, written
from transformers import LlamaConfig

import specviz
from specviz.catalog import Unsuitable, loading
from specviz.drafters.common.config import rope_of
from specviz.drafters.common.config_keys import ACTIVATIONS, HARMLESS, IMPLEMENTED, IN_TENSORS
from specviz.models.memory import ModelCache

SLIDING = "sliding window"
WINDOW = {"layer_types": ["sliding_attention"], "sliding_window": 4}
SPECULATORS = PUBLISHED["eagle3 of speculators"][1]["transformer_layer_config"]
ATTENTION = [name for name in PUBLISHED if "medusa" not in name]
ONE_PER_FAMILY = ["eagle", "eagle3 of SafeAILab", "p-eagle of SpecForge", "mtp", "dflash", "medusa"]


@pytest.fixture(autouse=True)
def _own_heads(monkeypatch):
    """Clear loaded heads between tests."""
    monkeypatch.setattr(loading, "HEADS", ModelCache())


def loaded(folder, layout, **changes):
    written(layout, folder, **changes)
    return specviz.load_drafter(str(folder), published.target())


def nested(**changes):
    """Return changes to the nested config of a DFlash head."""
    return {"dflash_config": {**DFLASH["dflash_config"], **changes}}


REFUSED = [
    *((name, WINDOW, SLIDING) for name in ATTENTION),
    ("eagle3 of speculators", {"transformer_layer_config": {**SPECULATORS, **WINDOW}}, SLIDING),
    ("dflash", {"layer_types": ["full_attention", "sliding_attention"]}, SLIDING),
    ("dflash", {"layer_types": ..., "use_sliding_window": True, "sliding_window": 4}, SLIDING),
    ("dflash", {"layer_types": ..., "sliding_window": 4}, "use_sliding_window: false"),
    ("dflash", nested(use_swa=True, swa_window_size=4), SLIDING),
    ("dflash", {"use_swa": True, "sliding_window": 4}, SLIDING),
    ("dflash", {"layer_types": ..., **nested(swa_window_size=4)}, "use_sliding_window: false"),
    ("dflash", {"layer_types": ["chunked_attention"] * 2}, "the type 'chunked_attention'"),
    ("dflash", {"layer_types": 3}, "layer_types are no list: 3"),
    ("dflash", nested(causal=True), "sets dflash_config.causal to True"),
    ("dflash", {"causal": True}, "sets causal to True"),
    ("dflash", {"attention_bias": True}, "sets attention_bias"),
    ("dflash", nested(projector_type="domino"), "sets dflash_config.projector_type"),
    ("dflash", nested(attention_sink_bias=True), "sets dflash_config.attention_sink_bias"),
    ("eagle", {"is_causal": False}, "sets is_causal to False"),
    ("eagle3 of ModelOpt", {"eagle_config": {"use_last_layernorm": False}}, "use_last_layernorm"),
    ("eagle3 of ModelOpt", {"eagle_config": {"use_mtp_layernorm": True}}, "use_mtp_layernorm"),
    ("eagle3 of SpecForge", {"eagle_config": {"sees_the_future": 1}}, "sets sees_the_future"),
    ("eagle", {"hidden_activation": "gelu"}, "uses gelu in its MLP"),
    ("eagle", {"partial_rotary_factor": 0.5}, "sets partial_rotary_factor"),
    ("eagle", {"rope_scaling": {"partial_rotary_factor": 0.5}}, "rope_scaling.partial_rotary_fac"),
    ("eagle", {"rope_parameters": {"slope": 1}}, "sets rope_parameters.slope"),
    ("eagle", {"rope_scaling": {"rope_type": "linear", "factor": "2"}}, "factor must be a number"),
    ("eagle", {"rope_scaling": {"rope_type": "llama3"}}, "positions are invalid: .*Missing"),
    ("eagle", {"rope_theta": "many"}, "positions are invalid: could not convert"),
    ("eagle", {"rope_theta": [1]}, "positions are invalid"),
    ("eagle", {"rope_theta": 1e4, "max_position_embeddings": "many"}, "positions are invalid"),
    ("eagle", {"rope_scaling": {"rope_type": "linear", "factor": None}}, "positions are invalid"),
    ("mtp", {"n_routed_experts": 8}, "sets n_routed_experts"),
    ("medusa", {"medusa_tree_attention": 1}, "sets medusa_tree_attention"),
    *((name, {"quantization_config": {"bits": 4}}, "quantization") for name in ONE_PER_FAMILY),
    *((name, {"new_kind_of_layer": True}, "sets new_kind_of_layer") for name in PUBLISHED),
]


@pytest.mark.parametrize(("layout", "changes", "sentence"), REFUSED)
def test_config_that_asks_for_something_else_is_refused_by_name(
    layout, changes, sentence, tmp_path
):
    with pytest.raises(Unsuitable, match=sentence):
        loaded(tmp_path / "head", layout, **changes)


READ_ELSEWHERE = {"architectures", "attention_bias", "bias"}
HARMLESS_CHANGES = [
    {"use_sliding_window": False, "sliding_window": 4, "max_window_layers": 1},
    {"layer_types": ["full_attention"], "sliding_window": 4},
    {"use_swa": False, "swa_window_size": 4},
    {"sliding_window": None, "layer_types": None},
    {"hidden_act": "swish", "attention_dropout": 0.1, "audio_token_id": 5, "logit_scale": 1.0},
    dict.fromkeys(sorted((HARMLESS | IN_TENSORS) - READ_ELSEWHERE), 2),
    {key: values[0] for key, values in IMPLEMENTED.items() if "causal" not in key},
]


NOT_USED = {"max_position_embeddings": None, "base_model_name_or_path": None}  # kept, but not used


@pytest.mark.parametrize("changes", HARMLESS_CHANGES, ids=lambda changes: next(iter(changes)))
@pytest.mark.parametrize("layout", ONE_PER_FAMILY)
def test_keys_that_change_nothing_are_accepted(layout, changes, tmp_path):
    plain, other = loaded(tmp_path / "a", layout), loaded(tmp_path / "b", layout, **changes)
    one, two = ({**vars(each.head.config), **NOT_USED} for each in (plain, other))
    assert one == two


def test_no_key_is_listed_twice():
    assert not HARMLESS & IN_TENSORS
    assert not (HARMLESS | IN_TENSORS) & IMPLEMENTED.keys()
    assert not set(ACTIVATIONS) & (HARMLESS | IN_TENSORS | IMPLEMENTED.keys())


LINEAR = {"rope_type": "linear", "factor": 2.0}
FULL = {"rope_type": "default", "rope_theta": 1e6}


@pytest.mark.parametrize(
    ("config", "theta", "factor"),
    [
        ({}, 10_000.0, None),
        ({"rope_theta": 5e5}, 5e5, None),
        ({"rope_theta": 5e5, "rope_parameters": FULL}, 1e6, None),
        ({"rope_theta": 5e5, "rope_scaling": FULL}, 1e6, None),
        ({"rope_theta": 5e5, "rope_scaling": LINEAR}, 5e5, 2.0),
        ({"rope_scaling": LINEAR, "rope_parameters": FULL}, 10_000.0, 2.0),
        ({"rope_scaling": FULL, "rope_parameters": {**LINEAR, "rope_theta": 7.0}}, 1e6, None),
        ({"rope_scaling": {"type": "linear", "factor": 4.0}, "rope_theta": 5e5}, 5e5, 4.0),
        ({"rope_scaling": {**FULL, "mrope_section": [1, 1, 1]}}, 1e6, None),
        ({"rope_scaling": None, "rope_theta": None}, 10_000.0, None),
    ],
)
def test_rotary_positions_follow_the_precedence_of_transformers(config, theta, factor):
    found = rope_of("x", json.loads(json.dumps(config)))
    assert found["rope_theta"] == theta
    assert (found["rope_scaling"] or {}).get("factor") == factor
    given = {key: value for key, value in config.items() if value is not None}
    theirs = LlamaConfig(**json.loads(json.dumps(given))).rope_parameters
    assert theirs["rope_theta"] == theta
    assert theirs.get("factor") == factor


def test_listed_last_layer_of_the_target_is_read_only_if_fc_reads_it(tmp_path):
    aux = "eagle_aux_hidden_state_layer_ids"
    three = loaded(tmp_path / "a", "eagle3 of speculators", **{aux: [1, 3, 6, LAYERS]})
    assert three.head.config.tap_layers == (1, 3, 6)
    wide = {"fc.weight": published.random(WIDE, 4 * WIDE)}
    four = loaded(tmp_path / "b", "eagle3 of speculators", more=wide, **{aux: [1, 3, 6, LAYERS]})
    assert four.head.config.tap_layers == (1, 3, 6, LAYERS)
    with pytest.raises(Unsuitable, match=r"fc\.weight is \(24, 72\), and its config says"):
        loaded(tmp_path / "c", "eagle3 of speculators", **{aux: [1, 3, 6, LAYERS - 1]})
    for name, changes in (
        ("d", nested(target_layer_ids=[1, 4, LAYERS - 1])),
        ("e", {"target_layer_ids": [1, 4, LAYERS - 1], "dflash_config": {"mask_token_id": 3}}),
    ):
        block = loaded(tmp_path / name, "dflash", **changes)
        assert block.head.config.target_layer_ids == (1, 4)
