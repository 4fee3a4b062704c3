"""What vLLM was seen to keep of our drafters' guesses fits what ships, and is what we keep."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from peers.as_there import as_there
from peers.environment import PACKAGE, VERSION
from peers.table import NEW_TOKENS, PEERS
from peers.told import by_position, ours, theirs
from peers.vllm_accepted import known
from safetensors.torch import load_file

from specviz.catalog import load_drafter, load_target
from specviz.models.files import fingerprint, weight_files
from specviz.shipped import ASSETS, prompts
from specviz.training.card.base import StaleMeasurements, read_peers
from specviz.training.card.measured import other_programs
from specviz.training.export import SHARED, write_shared

MODELS = ASSETS / "models"
FACTS = json.loads((MODELS / "peers.json").read_text(encoding="utf-8"))
ROWS = {row["drafter"]: row for row in FACTS["rows"]}
TEXTS = [text for texts in prompts().values() for text in texts]
FEW = 24  # new tokens: a few rounds of a prompt


def test_the_data_is_of_what_ships():
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


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_numbers_follow_from_the_rounds(row):
    here = [row["others"].get(str(place), told) for place, told in enumerate(row["vllm"])]
    assert len(row["vllm"]) == len(TEXTS)
    assert row["rounds_equal"] == len(TEXTS) - len(row["others"])
    for who, told in (("vllm", row["vllm"]), ("ours", here)):
        assert row["by_position"][who] == by_position(told)
        assert row["rounds"][who] == sum(map(len, told))


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.drafter)
def test_every_text_is_ours_and_every_round_where_nothing_differs(peer):
    row = ROWS[peer.drafter]
    assert row["texts_equal"] == len(TEXTS)
    assert (row["rounds_equal"] == len(TEXTS)) is not bool(peer.differs)
    assert row["as_there"] == (len(TEXTS) if peer.differs else None)


@pytest.mark.slow
@pytest.mark.parametrize("place", [2, 12])  # a story, and code, whose n-grams stand in many places
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.drafter)
def test_our_own_rounds_are_still_those(peer, place, monkeypatch):
    target = load_target("house", "cpu")
    whole = replace(peer.settings, max_new_tokens=FEW)
    monkeypatch.setattr(type(peer), "settings", whole)
    told = ours(target, load_drafter(peer.drafter, target), TEXTS[place], peer).digits
    row = ROWS[peer.drafter]
    assert told
    assert row["others"].get(str(place), row["vllm"][place]).startswith(told)


@pytest.mark.slow
@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.differs], ids=lambda p: p.drafter)
def test_what_vllm_does_otherwise_is_why_its_rounds_are_others(peer, monkeypatch):
    row = ROWS[peer.drafter]
    place = min(row["others"], key=lambda place: len(row["vllm"][int(place)]))
    target = load_target("house", "cpu")
    with as_there(peer.drafter):
        told = ours(target, load_drafter(peer.drafter, target), TEXTS[int(place)], peer).digits
    assert told == row["vllm"][int(place)] != row["others"][place]


def test_the_last_round_and_the_prefill_are_left_out():
    steps = [
        {"drafted": 0, "accepted": 0, "tokens": [5]},
        {"drafted": 4, "accepted": 2, "tokens": [6, 7, 8]},
        {"drafted": 0, "accepted": 0, "tokens": [9]},
        {"drafted": 4, "accepted": 4, "tokens": [1]},
    ]
    told = theirs(steps)
    assert (told.tokens, told.digits) == ((5, 6, 7, 8, 9, 1), "20")
    assert by_position(["20", "1"]) == [2, 1]


def test_rows_that_are_not_measured_anew_stay_unless_what_was_the_same_for_all_has_changed():
    file, same = MODELS / "peers.json", {key: FACTS[key] for key in FACTS.keys() - {"rows"}}
    assert known(file, same) == ROWS
    assert known(file, same | {"version": "0.1"}) == {}
    assert known(MODELS / "none.json", same) == {}


def test_medusa_s_folder_has_the_target_s_projection_for_programs_that_share_none(tmp_path):
    target = load_target("house", "cpu")
    beside = load_file(MODELS / "medusa" / SHARED)
    words = load_file(MODELS / "target" / "model.safetensors")["model.embed_tokens.weight"]
    assert beside.keys() == {"lm_head.weight"}
    assert beside["lm_head.weight"].equal(words)
    (tmp_path / "config.json").write_text('{"original_lm_head": true}', encoding="utf-8")
    write_shared(tmp_path, target)
    assert load_file(tmp_path / SHARED)["lm_head.weight"].equal(words)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / SHARED).unlink()
    write_shared(tmp_path, target)
    assert not (tmp_path / SHARED).exists()


def test_all_that_ships_fits_in_the_weights_budget():
    """48 MB for the house, projections that only vLLM reads among them, and 90 MB in all."""
    files = list(MODELS.rglob("*.safetensors"))
    house = [file for file in files if not file.parent.name.endswith("-smollm2")]
    assert len(house) < len(files)
    assert sum(file.stat().st_size for file in house) < 48e6
    assert sum(file.stat().st_size for file in files) < 90e6


def test_the_card_says_what_was_seen():
    from specviz.training.card.base import read_models

    models = read_models(MODELS)
    said = other_programs(models)
    for peer in PEERS:
        assert f"| `{peer.drafter}` |" in said
        assert peer.why_not in said
    assert said in (MODELS / "README.md").read_text(encoding="utf-8")
    assert "Not compared yet" in other_programs(replace(models, peers=None))


def test_what_was_seen_with_other_weights_is_refused(tmp_path):
    for folder in MODELS.iterdir():
        if folder.is_dir():
            (tmp_path / folder.name).symlink_to(folder)
    other = {**FACTS, "rows": [{**ROWS["eagle3"], "hash": "0" * 64}]}
    (tmp_path / "peers.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(StaleMeasurements, match=r"peers\.json has numbers of eagle3"):
        read_peers(tmp_path)
