"""Run requests: from JSON and from the form; every error is a sentence."""

import json

import pytest

from specviz.catalog import entries, find
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.settings.specs import find_spec
from specviz.ui.request import LONGEST_PROMPT, LONGEST_TEXT, RunRequest
from specviz.ui.step.choices import Choices, rows

PROMPT = "Once upon a time"


def asked(**more):
    return {"prompt": PROMPT} | more


def form(**changes):
    filled = {row.name: row.form_value(row.default) for row in rows()}
    usual = {"prompt": PROMPT, "method": "draft-model"} | filled
    return Choices.from_form(usual | {"gamma": 4, "max_new_tokens": 12} | changes)


def test_request_with_only_a_prompt_uses_defaults():
    assert RunRequest.from_json(asked()) == RunRequest(PROMPT, "house", "draft-model", Settings())
    assert RunRequest.from_json(asked(settings=None)) == RunRequest.from_json(asked(settings={}))


def test_request_keeps_given_values_and_fills_in_defaults():
    wish = RunRequest.from_json(
        asked(
            drafter="ngram",
            settings={"gamma": 2, "sampling": {"top_k": 9}, "coins": {"3 judge 2": 0}},
        )
    )
    assert wish.drafter == "ngram"
    assert wish.settings == Settings(Sampling(top_k=9), gamma=2, coins={"3 judge 2": 0})


def test_missing_values_are_the_defaults_of_the_drafter():
    made = RunRequest.from_json(asked(drafter="eagle", settings={"gamma": 3})).settings
    assert (made.gamma, made.siblings) == (3, find("eagle", "drafter").usual["siblings"])
    assert made.siblings != Settings().siblings
    budget = RunRequest.from_json(asked(drafter="eagle3")).settings.budget
    assert budget == find("eagle3", "drafter").usual["budget"] != Settings().budget
    assert RunRequest.from_json(asked(drafter="draft-model")).settings == Settings()


def test_request_can_be_rebuilt_from_the_settings_of_its_trace():
    settings = Settings(
        Sampling(0.5, 3, 0.9), seed=-4, gamma=2, siblings=[3, 2], coins={"1 final 0": 0.25}
    )
    text = json.dumps(asked(settings=settings.to_json()))
    assert RunRequest.from_text(text).settings == settings


WRONG = [
    (5, "JSON object"),
    ([], "JSON object"),
    ({}, "needs a prompt"),
    (asked(prompt=None), "prompt must be text"),
    (asked(prompt="x" * (LONGEST_PROMPT + 1)), "4,000 characters"),
    (asked(prompt="half \ud83e"), "half a character"),
    (asked(target=3), "target must be text"),
    (asked(drafter=["ngram"]), "drafter must be text"),
    (asked(folder="x"), "no field folder"),
]
WRONG_SETTINGS = [
    ("gamma", "JSON object"),
    ({"gamma": "3"}, "gamma"),
    ({"gamma": 2.5}, "gamma"),
    ({"gamma": True}, "gamma"),
    ({"seed": 1.5}, "seed"),
    ({"seed": None}, "seed"),
    ({"sampling": 3}, "sampling"),
    ({"sampling": {"temperature": float("nan")}}, "Temperature"),
    ({"sampling": {"temperature": 10**400}}, "Temperature"),
    ({"sampling": {"temperature": 1e-320}}, "too small to divide"),
    ({"coins": [0.5]}, "coins"),
    ({"coins": {"3 judge 2": float("nan")}}, "coin"),
]
WRONG += [(asked(settings=settings), word) for settings, word in WRONG_SETTINGS]


@pytest.mark.parametrize(("data", "word"), WRONG)
def test_invalid_request_raises_readable_error(data, word):
    with pytest.raises(BadSettings, match=word) as refused:
        RunRequest.from_json(data)
    assert str(refused.value).endswith(".")


def test_malformed_request_raises_readable_error():
    long = '{"prompt": "' + "x" * LONGEST_TEXT
    for text in ("", "{", "[" * 30_000, long, None, "[1]", '"x"'):
        with pytest.raises(BadSettings) as refused:
            RunRequest.from_text(text)
        assert str(refused.value).endswith(".")


def test_only_models_of_the_catalogue_are_accepted_unless_any_model_is_allowed():
    for name in ("/etc", "..", "owner/name", "ngram ", "", "house"):
        with pytest.raises(BadSettings, match="No drafter is called") as refused:
            RunRequest.from_json(asked(drafter=name))
        assert "draft-model" in str(refused.value)
        assert RunRequest.from_json(asked(drafter=name), any_model=True).drafter == name
    with pytest.raises(BadSettings, match="No target is called"):
        RunRequest.from_json(asked(target="ngram"))
    assert RunRequest.from_json(asked(target="a/b"), any_model=True).target == "a/b"
    for entry in entries():
        made = RunRequest.from_json(asked(**{entry.kind: entry.name}))
        assert getattr(made, entry.kind) == entry.name


def test_form_and_json_give_the_same_request():
    filled = form(seed=7.0, temperature=0, siblings="3, 2", max_new_tokens=20)
    settings = {
        "sampling": {"temperature": 0, "top_k": 0, "top_p": 1},
        "seed": 7,
        "gamma": 4,
        "siblings": [3, 2],
        "max_new_tokens": 20,
    }
    assert filled.request() == RunRequest.from_json(asked(settings=settings))


def test_every_method_of_the_form_selects_its_drafter():
    assert form().models() == ("house", "draft-model")
    assert form(method="ngram").models() == ("house", "ngram")
    named = {"target": " t", "drafter": "d "}
    assert form(**named).models() == ("t", "d")
    assert form(**named, method="ngram").models() == ("t", "ngram")
    for candidates in ("sampled", "greedy"):
        assert form(candidates=candidates).settings().candidates == candidates


def test_lists_are_parsed_as_the_form_displays_them():
    known = {"": [], None: [], "3": [3], "3, 2": [3, 2], " 3 2,1, ": [3, 2, 1]}
    assert {typed: form(siblings=typed).settings().siblings for typed in known} == known
    for paths in ([], [[0]], [[0], [1], [0, 0]], [[0], [0, 0], [0, 0, 0]]):
        shown = find_spec("rank_paths").form_value(paths)
        assert form(rank_paths=shown).settings().rank_paths == paths
    assert form(rank_paths=None).settings().rank_paths == []
    assert form(rank_paths=" 0; 0, 1 ;").settings().rank_paths == [[0], [0, 1]]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"temperature": None}, "Temperature"),
        ({"temperature": "warm"}, "Temperature"),
        ({"temperature": float("nan")}, "finite"),
        ({"seed": 1.5}, "whole number"),
        ({"candidates": "odd"}, "Candidates"),
        ({"siblings": "three"}, "like 3, 2"),
        ({"siblings": "3; 2"}, "like 3, 2"),
        ({"siblings": "2.5"}, "like 3, 2"),
        ({"siblings": "-1"}, "like 3, 2"),
        ({"siblings": ["3"]}, "like 3, 2"),
        ({"rank_paths": "0;;1"}, "like 0; 1; 0,0"),
        ({"rank_paths": "0; a"}, "like 0; 1; 0,0"),
        ({"rank_paths": "0; -1"}, "like 0; 1; 0,0"),
        ({"fan_out": 2.5}, "whole number"),
        ({"prompt": None}, "prompt"),
    ],
)
def test_invalid_form_raises_readable_error(changes, word):
    with pytest.raises(BadSettings, match=word) as refused:
        form(**changes).request()
    assert str(refused.value).endswith(".")
