"""Public checkpoints: the contents of their rows, and what supports them."""

from __future__ import annotations

import json

import huggingface_hub
import pytest
import test_dspark
import test_pard
import tiny
from huggingface_hub.errors import LocalEntryNotFoundError
from published import PUBLISHED, written
from transformers import Qwen3Config, Qwen3ForCausalLM

from specviz.catalog import load_target, public
from specviz.catalog.public import CAUSAL_LM, PublicCheckpoint
from specviz.commands.cli import main
from specviz.drafters.common.checkpoint import LAYOUTS, layout_in

ROWS = public.public_checkpoints()
TITLES = {layout.title for layout in LAYOUTS}


@pytest.fixture
def nothing_here(monkeypatch):
    """Simulate a machine that has fetched nothing."""

    def absent(*_, **__):
        raise LocalEntryNotFoundError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", absent)


TYPES = {
    "name": str, "kind": str, "family": str, "layout": str | None, "runs": bool | None,
    "made_for": str | None, "revision": str, "parameters": int | None, "bytes": int | None,
    "dtype": str | None, "licence": str | None, "gated": bool | None,
    "chat_template": bool | None, "verified": dict, "about": str, "sources": list,
}  # fmt: skip


def test_rows_of_public_checkpoints_follow_the_schema():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert TYPES.keys() == set(PublicCheckpoint.__slots__)
    for row in ROWS:
        wrong = [name for name, kind in TYPES.items() if not isinstance(getattr(row, name), kind)]
        assert not wrong, row
        assert row.name.count("/") == 1, row
        assert row.kind in ("target", "drafter"), row
        assert (row.made_for is None) is (row.kind == "target"), row
        assert row.dtype in (None, "float32", "bfloat16", "float16"), row
        assert row.sources, row
        assert all(each.startswith("https://") for each in row.sources), row
        assert row.verified.keys() == {"layout", "weights"}, row
        assert not row.verified["weights"], row  # no published weights were ever loaded here


def test_runnable_checkpoints_have_a_layout_and_others_a_reason():
    for row in ROWS:
        assert row.verified["layout"] or not row.runs, row
        if row.runs:
            assert row.layout in (TITLES if row.kind == "drafter" else {CAUSAL_LM}), row
        else:
            assert not row.verified["layout"], row
            reason = "Not built" if row.runs is False else "was not checked"
            assert reason in row.about, row


def test_verified_layouts_load_a_tiny_head(tmp_path):
    held = set()
    for number, name in enumerate(PUBLISHED):
        written(name, tmp_path / str(number))
        held.add(layout_in(tmp_path / str(number)).title)
    held.add(layout_in(test_dspark.write(tmp_path / "dspark")).title)
    held.add(layout_in(test_pard.write(tmp_path / "pard")).title)
    said = {row.layout for row in ROWS if row.verified["layout"]} - {CAUSAL_LM}
    assert said
    assert said <= held


def qwen3():
    config = tiny.llama().config.to_dict()
    same = {name: config[name] for name in ("vocab_size", "hidden_size", "intermediate_size")}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16}
    return Qwen3ForCausalLM(Qwen3Config(**same, **heads, num_hidden_layers=2))


@pytest.mark.slow
def test_verified_targets_load_a_tiny_model(tmp_path):
    kinds = {row.family for row in ROWS if row.layout == CAUSAL_LM and row.verified["layout"]}
    for kind in kinds:
        folder = tiny.save({"llama": tiny.llama, "qwen3": qwen3}[kind](), tmp_path / kind)
        assert load_target(str(folder)).model.config.model_type == kind


@pytest.mark.usefixtures("nothing_here")
def test_row_of_a_checkpoint_not_on_this_machine_gives_its_sizes():
    rows = {row["name"]: row for row in public.public_rows()}
    four = rows["Qwen/Qwen3-4B"]
    assert not any(row["on_this_machine"] for row in rows.values())
    assert four["memory_bytes"] == 4 * four["parameters"] == 16_000_000_000
    assert four["bytes"] == 8_049_600_000  # the file sizes that the Hub lists


def test_row_of_a_checkpoint_on_this_machine_has_the_size_of_its_files(monkeypatch, tmp_path):
    name = "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"
    written("eagle3 of SafeAILab", tmp_path)
    monkeypatch.setattr(public, "find_fetched", lambda each: tmp_path if each == name else None)
    (row,) = [row for row in public.public_rows() if row["on_this_machine"]]
    assert row["name"] == name
    assert row["bytes"] == (tmp_path / "model.safetensors").stat().st_size


@pytest.mark.usefixtures("nothing_here")
def test_models_command_lists_each_checkpoint_on_one_line(capsys):
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {row.name: [line for line in lines if line.split(" ")[0] == row.name] for row in ROWS}
    assert {len(each) for each in said.values()} == {1}
    assert "gated" in said["meta-llama/Llama-3.2-1B-Instruct"][0]
    assert "cannot run it" in said["google/gemma-4-E2B-it-assistant"][0]
    assert main(["models", "--json"]) == 0
    assert {row.name for row in ROWS} < {row["name"] for row in json.loads(capsys.readouterr().out)}
