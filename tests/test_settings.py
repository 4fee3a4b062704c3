"""Settings: invalid ones are refused with one sentence, and valid ones round-trip."""

from __future__ import annotations

import json
import math

import pytest

from specviz.settings.settings import (
    BadSettings,
    Sampling,
    Settings,
    max_gamma,
    summarize,
    tree_size,
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sampling(temperature=-1),
        lambda: Sampling(temperature=math.nan),
        lambda: Sampling(top_k=-1),
        lambda: Sampling(top_p=0),
        lambda: Sampling(top_p=1.5),
        lambda: Sampling(top_k=301).fit(300),
        lambda: Settings(max_new_tokens=0),
        lambda: Settings(max_new_tokens=10**9),
        lambda: Settings(gamma=0),
        lambda: Settings(schedule="sometimes"),
        lambda: Settings(candidates="lucky"),
        lambda: Settings(ngram_min=3, ngram_max=2),
        lambda: Settings(seed=2**64),
        lambda: Settings(siblings=[0]),
        lambda: Settings(siblings=[2, 9]),
        lambda: Settings(siblings=[1] * 17),
        lambda: Settings(siblings=[3, True]),
        lambda: Settings(siblings=[2.0]),
        lambda: Settings(siblings=(3, 2)),
        lambda: Settings(siblings=[8, 2], gamma=9),
        lambda: Settings.from_json({"siblings": "32"}),
        lambda: Settings.from_json({"siblings": ["3"]}),
        lambda: Settings.from_json({"siblings": 3}),
        lambda: Settings.from_json({"siblings": None}),
        lambda: Settings(coins={"1 judge 1": 1.0}),
        lambda: Settings(coins={"1 judge 1": "low"}),
        lambda: Settings(coins={"the first": 0.5}),
        lambda: Settings.from_json({"colour": "red"}),
        lambda: Settings.from_json({"sampling": {"heat": 3}}),
    ],
)
def test_invalid_settings_are_refused(make):
    with pytest.raises(BadSettings) as refused:
        make()
    assert str(refused.value).endswith(".")
    assert " " in str(refused.value)


def test_top_k_may_be_as_large_as_the_vocabulary():
    Sampling(top_k=300).fit(300)


def test_oversized_tree_is_refused_with_its_size():
    assert tree_size([8, 2], 8) == 8 + 7 * 16 == 120
    assert tree_size([], 64) == tree_size([1] * 16, 64) == 64
    Settings(siblings=[8, 2], gamma=max_gamma([8, 2]))
    Settings(siblings=[8] * 16, gamma=2)  # depths beyond γ are ignored
    with pytest.raises(
        BadSettings, match=r"8, 2 with γ 9 make a tree of 136 guesses; at most 128 are"
    ):
        Settings(siblings=[8, 2], gamma=9)


def test_settings_round_trip_through_json():
    settings = Settings(
        Sampling(0.3, 7, 0.9), seed=-5, gamma=3, siblings=[3, 2], schedule="learning"
    )
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_summary_names_only_settings_that_the_drafter_reads():
    data = Settings(Sampling(0.7), seed=3, gamma=4, siblings=[3, 2]).to_json()
    assert summarize(data) == "T 0.7 · tree 3·2 · γ 4 · seed 3"
    assert summarize(data, ["gamma"]) == "T 0.7 · γ 4 · seed 3"
    assert summarize(data, []) == "T 0.7 · seed 3"
    assert summarize(Settings(siblings=[1, 1]).to_json()) == "T 0.8 · γ 5 · seed 1"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"exit_layer": -1}, "exit layer"),
        ({"exit_layer": 2.0}, "exit layer"),
        ({"suffix_factor": 0}, "suffix factor"),
        ({"suffix_factor": float("nan")}, "suffix factor"),
        ({"suffix_least": 0}, "suffix guess"),
        ({"suffix_least": 1.1}, "suffix guess"),
        ({"lookahead_window": 0}, "window"),
        ({"lookahead_ngram": 2}, "between 3 and 8"),
        ({"lookahead_guesses": 17}, "n-grams"),
        ({"rank_paths": [[0], 1]}, "Rank paths"),
        ({"rank_paths": [[0.5]]}, "Rank paths"),
        ({"budget": 0}, "budget"),
        ({"fan_out": 17}, "fan-out"),
    ],
)
def test_settings_of_a_single_drafter_family_are_checked(changes, word):
    with pytest.raises(BadSettings, match=word):
        Settings(**changes)
