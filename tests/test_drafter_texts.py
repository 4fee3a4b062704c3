"""Catalogue and diagram texts of drafters, checked against shipped weights and runs."""

import json

import pytest

from specviz.catalog import entries
from specviz.frames import Scene
from specviz.shipped import ASSETS
from specviz.trace.file import Trace

DIAGRAMS = {entry.name: entry.diagram for entry in entries()}
TEXTS = {entry.name: f"{entry.about} {entry.how} {entry.knows}" for entry in entries()}


def config(name):
    return json.loads((ASSETS / "models" / name / "config.json").read_text(encoding="utf-8"))


def test_layers_of_other_width_are_not_called_copies():
    assert config("mtp-parallel")["hidden_dim"] != config("target")["intermediate_size"]
    for text in (TEXTS["mtp-parallel"], DIAGRAMS["mtp-parallel"]["says"]):
        assert "copies" not in text.lower()


@pytest.mark.parametrize("words", ["all combinations", "all parents", "every parent"])
def test_medusa_texts_do_not_claim_all_combinations(words):
    tree = Scene.of(Trace.read(ASSETS / "traces" / "04-medusa.jsonl"), 1)
    assert len({len(tree.children[node]) for node in tree.children[0]}) > 1
    assert words not in f"{TEXTS['medusa']} {DIAGRAMS['medusa']['says']}"
