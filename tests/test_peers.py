"""Comparison with vLLM: peers.json agrees with the shipped weights and the rounds of specviz."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from peers.as_there import as_there
from peers.environment import PACKAGE, VERSION
from peers.run_rounds import by_position, ours
from peers.table import NEW_TOKENS, PEERS
from safetensors.torch import load_file

from specviz.catalog import load_drafter, load_target
from specviz.models.files import fingerprint, weight_files
from specviz.shipped import ASSETS, prompts
from specviz.training.card import StaleMeasurements, read_peers
from specviz.training.export import SHARED, write_shared_projection

MODELS = ASSETS / "models"
FACTS = json.loads((MODELS / "peers.json").read_text(encoding="utf-8"))
ROWS = {row["drafter"]: row for row in FACTS["rows"]}
TEXTS = [text for texts in prompts().values() for text in texts]
NIGHT = pytest.mark.nightly


def test_comparison_with_vllm_was_measured_with_the_shipped_weights():
    assert (FACTS["package"], FACTS["version"]) == (PACKAGE, VERSION)
    assert FACTS["target"] == fingerprint(weight_files(MODELS / "target"))
    assert FACTS["prompts"] == hashlib.sha256((ASSETS / "prompts.json").read_bytes()).hexdigest()
    assert FACTS["new_tokens"] == NEW_TOKENS
    assert read_peers(MODELS) == FACTS
    assert [*ROWS] == [peer.drafter for peer in PEERS]
    for peer in PEERS:
        row = ROWS[peer.drafter]
        assert (row["theirs"], row["ours"]) == (peer.theirs, peer.ours)
        assert row["as_it_lies"] is not bool(peer.why_not)
        assert row["hash"] == (fingerprint(weight_files(peer.folder)) if peer.folder else None)
        assert row["differs"] == peer.differs


def test_counts_in_the_vllm_comparison_follow_from_its_rounds():
    for row in ROWS.values():
        here = [row["others"].get(str(place), told) for place, told in enumerate(row["vllm"])]
        assert len(row["vllm"]) == len(TEXTS)
        assert row["rounds_equal"] == len(TEXTS) - len(row["others"])
        for who, told in (("vllm", row["vllm"]), ("ours", here)):
            assert row["by_position"][who] == by_position(told)
            assert row["rounds"][who] == sum(map(len, told))


def test_texts_and_rounds_equal_those_of_vllm_except_where_noted():
    for peer in PEERS:
        row = ROWS[peer.drafter]
        assert row["texts_equal"] == len(TEXTS)
        assert (row["rounds_equal"] == len(TEXTS)) is not bool(peer.differs)
        assert row["as_there"] == (len(TEXTS) if peer.differs else None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "new"),  # a story; and code, whose n-grams occur often
    [(2, 12), pytest.param(2, 24, marks=NIGHT), pytest.param(12, 24, marks=NIGHT)],
)
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.drafter)
def test_current_rounds_equal_recorded_rounds(peer, place, new, monkeypatch):
    target = load_target("house", "cpu")
    monkeypatch.setattr(type(peer), "settings", replace(peer.settings, max_new_tokens=new))
    told = ours(target, load_drafter(peer.drafter, target), TEXTS[place], peer).digits
    row = ROWS[peer.drafter]
    assert told
    assert row["others"].get(str(place), row["vllm"][place]).startswith(told)


@pytest.mark.nightly
@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.differs], ids=lambda p: p.drafter)
def test_rounds_equal_those_of_vllm_after_the_noted_change(peer, monkeypatch):
    row = ROWS[peer.drafter]
    place = min(row["others"], key=lambda place: len(row["vllm"][int(place)]))
    target = load_target("house", "cpu")
    with as_there(peer.drafter):
        told = ours(target, load_drafter(peer.drafter, target), TEXTS[int(place)], peer).digits
    assert told == row["vllm"][int(place)] != row["others"][place]


@pytest.mark.slow
def test_medusa_folder_includes_the_output_projection_of_the_target(tmp_path):
    target = load_target("house", "cpu")
    beside = load_file(MODELS / "medusa" / SHARED)
    words = load_file(MODELS / "target" / "model.safetensors")["model.embed_tokens.weight"]
    assert beside.keys() == {"lm_head.weight"}
    assert beside["lm_head.weight"].equal(words)
    (tmp_path / "config.json").write_text('{"original_lm_head": true}', encoding="utf-8")
    write_shared_projection(tmp_path, target)
    assert load_file(tmp_path / SHARED)["lm_head.weight"].equal(words)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / SHARED).unlink()
    write_shared_projection(tmp_path, target)
    assert not (tmp_path / SHARED).exists()


def test_comparison_with_other_weights_is_refused(tmp_path):
    for folder in MODELS.iterdir():
        if folder.is_dir():
            (tmp_path / folder.name).symlink_to(folder)
    other = {**FACTS, "rows": [{**ROWS["eagle3"], "hash": "0" * 64}]}
    (tmp_path / "peers.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(StaleMeasurements, match=r"peers\.json has measurements of eagle3"):
        read_peers(tmp_path)
