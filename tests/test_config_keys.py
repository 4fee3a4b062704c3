"""What a head's config.json may ask for: computed, harmless, or refused by name."""

from __future__ import annotations

import json

import pytest
from transformers import LlamaConfig

from specviz.drafters.common.config import rope_of

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
