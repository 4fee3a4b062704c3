"""Setting specs: checks, options, fields, texts, summaries and visibility follow from one spec."""

from __future__ import annotations

import argparse
import typing
from dataclasses import MISSING, dataclass, fields
from typing import Literal, get_args, get_origin

import pytest

from specviz.catalog import entries
from specviz.settings import specs
from specviz.settings.settings import Sampling, Settings, add_settings, summarize
from specviz.settings.specs import SETTING_SPECS, SettingSpec, find_spec
from specviz.settings.value_types import (
    BadSettings,
    Choice,
    Integer,
    IntegerList,
    RankPathList,
    Real,
    UniformOverrides,
)
from specviz.ui.compare.race import lane
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


def hints(cls):
    return typing.get_type_hints(cls)


def test_every_settings_field_has_exactly_one_spec():
    assert sorted(row.name for row in SETTING_SPECS) == sorted(f.name for f in NAMED)


@pytest.mark.parametrize("row", SETTING_SPECS, ids=lambda row: row.name)
def test_settings_field_has_the_type_and_default_of_its_spec(row):
    owner = Sampling if row.group == "sampling" else Settings
    hint, found = hints(owner)[row.name], next(f for f in fields(owner) if f.name == row.name)
    if get_origin(hint) is Literal:
        assert row.kind.words == get_args(hint)
        assert len(row.kind.titles) == len(row.kind.words)
    else:
        assert hint == TYPES.get(type(row.kind), str)
    default = found.default if found.default_factory is MISSING else found.default_factory()
    assert default == row.default
    assert type(default) is type(row.default)
    row.check(row.default)


def test_default_lists_are_not_shared():
    first, second = Settings(), Settings()
    first.siblings.append(2)
    assert second.siblings == find_spec("siblings").default == []


@pytest.mark.parametrize("row", TYPED, ids=lambda row: row.name)
def test_formatted_value_of_a_setting_parses_back(row):
    many = {
        IntegerList: [3, 2],
        RankPathList: [[0], [1], [0, 0]],
        Real: 0.123456789,
        Integer: 2**62 + 1,
    }
    for value in (row.default, many.get(type(row.kind), row.default)):
        assert row.parse(row.kind.text(value)) == value
        assert row.parse(row.form_value(value)) == value


@pytest.mark.parametrize(
    "row", [row for row in SETTING_SPECS if row.slider], ids=lambda row: row.name
)
def test_limits_of_each_slider_are_valid_values(row):
    least, most, step = row.slider
    for value in (least, most, least + step):
        row.check(row.parse(value))


@pytest.mark.parametrize("row", TYPED, ids=lambda row: row.name)
def test_settings_refuse_a_value_that_their_spec_refuses(row):
    wrong = {IntegerList: [0], RankPathList: [[0.5]], Choice: 3}.get(type(row.kind), float("nan"))
    with pytest.raises(BadSettings) as expected:
        row.check(wrong)
    with pytest.raises(BadSettings) as refused:
        (Sampling if row.group == "sampling" else Settings)(**{row.name: wrong})
    assert str(refused.value) == str(expected.value)
    assert str(refused.value).endswith(".")


def test_value_at_an_excluded_limit_is_refused():
    open_ = Real(0, 1, above=True, below=True)
    assert [open_.contains(x) for x in (0, 1e-9, 0.5, 1 - 1e-9, 1)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    closed = Real(0, 1)
    assert [closed.contains(x) for x in (-1e-9, 0, 1, 1.1)] == [False, True, True, False]


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


def test_value_of_a_new_spec_is_checked(furnace):
    assert furnace(heat=9).heat == 9
    with pytest.raises(BadSettings, match="The heat must be between 2 and 9, not 10"):
        furnace(heat=10)


def test_new_spec_becomes_a_command_line_option(furnace):
    parser = argparse.ArgumentParser()
    add_settings(parser)
    assert vars(parser.parse_args(["--heat", "7"])) == {"heat": 7}
    assert "furnace: how hot it gets (2 to 9)" in " ".join(parser.format_help().split())


def test_new_spec_becomes_a_field_of_the_page(furnace):
    box = drawer.boxes("drafting", furnace(heat=6))["heat"]
    assert (box.label, box.value, box.minimum, box.maximum, box.step) == ("Heat", 6, 2, 8, 2)
    assert {"name": "heat", "kind": "whole"} in player.config()["form"]
    filled = {"prompt": "", "method": ""} | {row.name: row.default for row in choices.rows()}
    found = choices.Choices.from_form(filled | {"heat": 8.0}).filled
    assert choices.read("drafting", found)["heat"] == 8


def test_new_spec_is_in_the_summary_if_the_drafter_reads_it(furnace):
    data = furnace(heat=6).to_json()
    assert summarize(data, ["heat"]) == "T 0.8 · heat 6 · seed 1"
    assert summarize(data, []) == summarize(data, ["siblings"]) == "T 0.8 · seed 1"
    assert "heat" not in summarize(data)
    assert HEAT in form.sentence_rows()
    assert '"brief": "heat {}"' in form.sentence()


def test_field_of_a_new_spec_is_hidden_if_the_drafter_does_not_read_it(furnace):
    assert "#sv-drawer:not([data-reads~=heat]) #sv-heat" in drawer.css()


def test_page_hides_draft_settings_that_a_drafter_ignores():
    rules = drawer.css()
    for row in SETTING_SPECS:
        hidden = f"#sv-drawer:not([data-reads~={row.name}]) #sv-{row.name.replace('_', '-')}"
        ignored = row.group == "drafting" and bool(row.label) and not row.read_by_all
        assert (hidden in rules) == ignored
    for entry in entries():
        assert set(entry.reads) <= {row.name for row in SETTING_SPECS if row.group == "drafting"}


def test_new_spec_becomes_a_field_of_a_race_lane(furnace, monkeypatch):
    monkeypatch.setattr(lane, "Settings", furnace)
    assert "heat" in [row["name"] for row in lane.rows()]
    assert "#sv-raceform-fields:not([data-reads~=heat]) #sv-raceform-heat" in lane.css()
