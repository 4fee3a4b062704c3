"""Settings: each has one spec, from which checks, options, fields, texts and summaries follow."""

from __future__ import annotations

import argparse
import json
import math
import typing
from dataclasses import MISSING, dataclass, fields
from typing import Literal, get_args, get_origin

import pytest

from specviz.catalog import entries
from specviz.settings import specs
from specviz.settings.settings import (
    Sampling,
    Settings,
    add_settings,
    max_gamma,
    summarize,
    tree_size,
)
from specviz.settings.specs import SETTING_SPECS, SettingSpec, find_spec, page_fields
from specviz.settings.value_types import (
    BadSettings,
    Choice,
    Integer,
    IntegerList,
    RankPathList,
    Real,
    UniformOverrides,
)
from specviz.ui.compare.race.request import FormLane
from specviz.ui.step import choices, drawer, form, player

TYPES = {
    Integer: int,
    Real: float,
    IntegerList: list[int],
    RankPathList: list[list[int]],
    UniformOverrides: dict[str, float],
}
NAMED = [f for cls in (Sampling, Settings) for f in fields(cls) if f.name != "sampling"]
TYPED = [row for row in SETTING_SPECS if not isinstance(row.kind, UniformOverrides)]

INVALID = [
    (lambda: Sampling(temperature=-1), ""),
    (lambda: Sampling(temperature=math.nan), ""),
    (lambda: Sampling(top_k=-1), ""),
    (lambda: Sampling(top_p=0), ""),
    (lambda: Sampling(top_p=1.5), ""),
    (lambda: Sampling(top_k=301).fit(300), ""),
    (lambda: Settings(max_new_tokens=0), ""),
    (lambda: Settings(max_new_tokens=10**9), ""),
    (lambda: Settings(gamma=0), ""),
    (lambda: Settings(schedule="sometimes"), ""),
    (lambda: Settings(candidates="lucky"), ""),
    (lambda: Settings(ngram_min=3, ngram_max=2), ""),
    (lambda: Settings(seed=2**64), ""),
    (lambda: Settings(siblings=[0]), ""),
    (lambda: Settings(siblings=[2, 9]), ""),
    (lambda: Settings(siblings=[1] * 17), ""),
    (lambda: Settings(siblings=[3, True]), ""),
    (lambda: Settings(siblings=[2.0]), ""),
    (lambda: Settings(siblings=(3, 2)), ""),
    (lambda: Settings(siblings=[8, 2], gamma=9), "8, 2 with γ 9 make a tree of 136 guesses; at "),
    (lambda: Settings.from_json({"siblings": "32"}), ""),
    (lambda: Settings.from_json({"siblings": ["3"]}), ""),
    (lambda: Settings.from_json({"siblings": 3}), ""),
    (lambda: Settings.from_json({"siblings": None}), ""),
    (lambda: Settings(coins={"1 judge 1": 1.0}), ""),
    (lambda: Settings(coins={"1 judge 1": "low"}), ""),
    (lambda: Settings(coins={"the first": 0.5}), ""),
    (lambda: Settings(coins={"01 judge 1": 0.5}), ""),
    (lambda: Settings(coins={"1 judge ١": 0.5}), ""),
    (lambda: Settings.from_json({"colour": "red"}), ""),
    (lambda: Settings.from_json({"sampling": {"heat": 3}}), ""),
    (lambda: Settings(exit_layer=-1), "exit layer"),
    (lambda: Settings(exit_layer=2.0), "exit layer"),
    (lambda: Settings(suffix_factor=0), "suffix factor"),
    (lambda: Settings(suffix_factor=math.nan), "suffix factor"),
    (lambda: Settings(suffix_least=0), "suffix guess"),
    (lambda: Settings(suffix_least=1.1), "suffix guess"),
    (lambda: Settings(lookahead_window=0), "window"),
    (lambda: Settings(lookahead_ngram=2), "between 3 and 8"),
    (lambda: Settings(lookahead_guesses=17), "n-grams"),
    (lambda: Settings(rank_paths=[[0], 1]), "Rank paths"),
    (lambda: Settings(rank_paths=[[0.5]]), "Rank paths"),
    (lambda: Settings(budget=0), "budget"),
    (lambda: Settings(fan_out=17), "fan-out"),
]


def test_invalid_settings_are_refused():
    for place, (make, word) in enumerate(INVALID):
        with pytest.raises(BadSettings) as refused:
            make()
        assert str(refused.value).endswith("."), place
        assert (word or " ") in str(refused.value), place


def test_values_at_a_limit_are_valid():
    Sampling(top_k=300).fit(300)
    assert tree_size([8, 2], 8) == 8 + 7 * 16 == 120
    assert tree_size([], 64) == tree_size([1] * 16, 64) == 64
    Settings(siblings=[8, 2], gamma=max_gamma([8, 2]))
    Settings(siblings=[8] * 16, gamma=2)  # depths beyond γ are ignored
    for row in SETTING_SPECS:
        if row.slider:
            least, most, step = row.slider
            for value in (least, most, least + step):
                row.check(row.parse(value))
    inner = Real(0, 1, above=True, below=True)
    assert [inner.contains(x) for x in (0, 1e-9, 1 - 1e-9, 1)] == [False, True, True, False]
    closed = Real(0, 1)
    assert [closed.contains(x) for x in (-1e-9, 0, 1, 1.1)] == [False, True, True, False]


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


# Specs


def test_every_settings_field_has_exactly_one_spec():
    assert sorted(row.name for row in SETTING_SPECS) == sorted(f.name for f in NAMED)


def test_settings_field_has_the_type_and_default_of_its_spec():
    for row in SETTING_SPECS:
        owner = Sampling if row.group == "sampling" else Settings
        hint = typing.get_type_hints(owner)[row.name]
        found = next(f for f in fields(owner) if f.name == row.name)
        if get_origin(hint) is Literal:
            assert row.kind.words == get_args(hint)
            assert len(row.kind.titles) == len(row.kind.words)
        else:
            assert hint == TYPES.get(type(row.kind), str), row.name
        default = found.default if found.default_factory is MISSING else found.default_factory()
        assert default == row.default
        assert type(default) is type(row.default)
        row.check(row.default)
    first, second = Settings(), Settings()
    first.siblings.append(2)
    assert second.siblings == find_spec("siblings").default == [], "a default list is shared"


def test_formatted_value_of_a_setting_parses_back():
    many = {
        IntegerList: [3, 2],
        RankPathList: [[0], [1], [0, 0]],
        Real: 0.123456789,
        Integer: 2**62 + 1,
    }
    for row in TYPED:
        for value in (row.default, many.get(type(row.kind), row.default)):
            assert row.parse(row.kind.text(value)) == value, row.name
            assert row.parse(row.form_value(value)) == value, row.name


def test_settings_refuse_a_value_that_their_spec_refuses():
    kinds = {IntegerList: [0], RankPathList: [[0.5]], Choice: 3}
    for row in TYPED:
        wrong = kinds.get(type(row.kind), math.nan)
        with pytest.raises(BadSettings) as expected:
            row.check(wrong)
        with pytest.raises(BadSettings) as refused:
            (Sampling if row.group == "sampling" else Settings)(**{row.name: wrong})
        assert str(refused.value) == str(expected.value)
        assert str(refused.value).endswith(".")


HEAT = SettingSpec(
    "heat",
    Integer(2, 9),
    4,
    "The heat",
    "furnace: how hot it gets",
    label="Heat",
    slider=(2, 8, 2),
    brief="heat {}",
    rarely_read=True,
)


@pytest.fixture
def furnace(monkeypatch):
    """Add one setting to the specs, which the first drafter of the catalogue reads."""

    @dataclass(frozen=True, slots=True)
    class Hot(Settings):
        heat: int = HEAT.default

    rows = (*SETTING_SPECS[:-3], HEAT, *SETTING_SPECS[-3:])
    monkeypatch.setattr(specs, "SETTING_SPECS", rows)
    monkeypatch.setattr("specviz.settings.settings.SETTING_SPECS", rows)
    return Hot


def test_new_spec_becomes_a_checked_setting_and_a_command_line_option(furnace):
    assert furnace(heat=9).heat == 9
    with pytest.raises(BadSettings, match="The heat must be between 2 and 9, not 10"):
        furnace(heat=10)
    parser = argparse.ArgumentParser()
    add_settings(parser)
    assert vars(parser.parse_args(["--heat", "7"])) == {"heat": 7}
    assert "furnace: how hot it gets (2 to 9)" in " ".join(parser.format_help().split())


def test_new_spec_becomes_a_field_of_the_page_and_of_a_race_lane(furnace):
    box = drawer.boxes("drafting", furnace(heat=6))["heat"]
    assert (box.label, box.value, box.minimum, box.maximum, box.step) == ("Heat", 6, 2, 8, 2)
    assert {"name": "heat", "kind": "whole"} in player.config()["form"]
    assert ".sv-reads:not([data-reads~=heat], :has([data-reads~=heat])) [id$=-heat]" in drawer.css()
    filled = {"prompt": "", "method": ""} | {row.name: row.default for row in choices.rows()}
    found = choices.Choices.from_form(filled | {"heat": 8.0}).filled
    assert choices.read("drafting", found)["heat"] == 8
    made = FormLane("ngram", [row.default for row in page_fields("drafting")])
    assert made.named()["heat"] == HEAT.default


def test_new_spec_is_in_the_summary_if_the_drafter_reads_it(furnace):
    data = furnace(heat=6).to_json()
    assert summarize(data, ["heat"]) == "T 0.8 · heat 6 · seed 1"
    assert summarize(data, []) == summarize(data, ["siblings"]) == "T 0.8 · seed 1"
    assert "heat" not in summarize(data)
    assert HEAT in form.sentence_rows()
    assert '"brief": "heat {}"' in form.sentence()


def test_page_hides_draft_settings_that_a_drafter_ignores():
    rules = drawer.css()
    for row in SETTING_SPECS:
        read = f"[data-reads~={row.name}]"
        hidden = f".sv-reads:not({read}, :has({read})) [id$=-{row.name.replace('_', '-')}]"
        ignored = row.group == "drafting" and bool(row.label) and not row.read_by_all
        assert (hidden in rules) == ignored
    for entry in entries():
        assert set(entry.reads) <= {row.name for row in SETTING_SPECS if row.group == "drafting"}
