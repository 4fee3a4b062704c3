"""What a head's config.json may ask for: computed, harmless, or refused by name."""

from __future__ import annotations

import json

import published
import pytest
from published import DFLASH, LAYERS, WIDE, written
from transformers import LlamaConfig

import specviz
from specviz.catalog import Unsuitable, loading
from specviz.drafters.common.config import rope_of
from specviz.models.memory import ModelCache

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
