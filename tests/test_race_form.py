"""The form of a race: its values become a race or an error, and a race fills in the form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.catalog.entry import entries, find, with_defaults
from specviz.compare.race import Lane, Race
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.ui.compare.race import form, recorded, request
from specviz.ui.compare.race.request import FormLane, RaceRequest, slots, suits, values
from specviz.ui.request import LONGEST_PROMPT

DRAFTERS = [entry.name for entry in entries() if entry.kind == "drafter"]
TWO = (FormLane("ngram", ""), FormLane("draft-model", "gamma=2"))
USUAL = RaceRequest("Once", "house", 0, 0, 1, 7, 12, TWO)


def test_values_of_the_form_become_a_race_with_a_random_order(monkeypatch):
    monkeypatch.setattr(request.secrets, "randbits", lambda _: 11)
    race = USUAL.race()
    assert (race.prompt, race.target, race.order_seed) == ("Once", "house", 11)
    assert race.sampling == Sampling(0, 0, 1)
    assert (race.shared.seed, race.shared.max_new_tokens) == (7, 12)
    lanes = [(lane.drafter, lane.settings.gamma) for lane in race.lanes]
    assert lanes == [("ngram", 10), ("draft-model", 2)]


def test_same_drafter_may_have_several_lanes():
    lanes = (FormLane("draft-model", "gamma=2"), FormLane("draft-model", "gamma=8"))
    named = replace(USUAL, lanes=lanes).race().lanes
    assert [lane.settings.gamma for lane in named] == [2, 8]
    twins = replace(USUAL, lanes=(TWO[1],) * 3).race().lanes
    assert len({lane.name for lane in twins}) == 3


def test_empty_lanes_of_the_form_are_skipped():
    fields = ("Once", "house", 0, 0, 1, 7, 12, "auto", "")
    found = RaceRequest.from_form(
        *fields, "ngram", None, None, "", "", "gamma=3", "suffix", "gamma=4"
    )
    assert found.lanes == (FormLane("ngram", ""), FormLane("suffix", "gamma=4"))


def test_all_lanes_share_the_chat_fields_unless_the_form_hides_them():
    asked = replace(USUAL, chat="chat", system="Be brief.")
    for lane in replace(asked, target="smollm2").race(any_model=True).lanes:
        assert (lane.settings.chat, lane.settings.system) == ("chat", "Be brief.")
    assert (asked.race().shared.chat, asked.race().shared.system) == ("auto", "")
    with pytest.raises(BadSettings, match="prompt's form"):
        replace(asked, target="smollm2", chat="sung").race(any_model=True)


SHAPES = {
    "draft-model": {"gamma"},
    "eagle": {"gamma", "siblings"},
    "eagle3": {"gamma", "budget", "fan_out"},
    "layerskip": {"gamma", "exit_layer"},
}


def said(typed):
    """Return the names of the settings in the text of a lane."""
    return {pair.split("=")[0].replace("-", "_") for pair in typed.split()}


def test_default_settings_of_each_drafter_can_be_parsed_as_a_lane():
    shared = {"sampling": {"temperature": 0.0}, "seed": 7, "max_new_tokens": 12}
    for name in DRAFTERS:
        lanes = (FormLane(name, suits(name)), FormLane("ngram", ""))
        settings = replace(USUAL, lanes=lanes).race().lanes[0].settings
        assert settings == Settings.from_json(with_defaults(name, shared)), name
        assert "gamma" in said(suits(name))
        assert said(suits(name)) <= set(find(name, "drafter").reads), name
    assert list(map(said, map(suits, SHAPES))) == list(SHAPES.values())


def test_every_preset_is_a_valid_race():
    for preset in request.presets():
        race = replace(USUAL, lanes=preset.lanes).race(any_model=False)
        assert 2 <= len(race.lanes) <= 4
        for lane, typed in zip(race.lanes, preset.lanes, strict=True):
            assert said(typed.settings) <= set(find(lane.drafter, "drafter").reads), preset.name


def test_equal_bytes_preset_has_nearly_equal_sizes():
    preset = next(p for p in request.presets() if p.name == "bytes")
    sizes = [request.weights()[lane.drafter] for lane in preset.lanes]
    assert max(sizes) / min(sizes) < 1.1
    assert all(f"{size / 1e6:.1f} MB" in preset.sentence for size in sizes)


RACES = [recipe.race for recipe in map(recorded.recipe, recorded.names()) if recipe]
ODD = Settings(
    sampling=Sampling(0.7, 5, 0.9), rule="point-mass", siblings=[2, 1], schedule="learning",
    ngram_max=5, rank_paths=[[0], [0, 1]], confidence=0.25,
)  # fmt: skip
RACES.append(
    Race("Two\nlines", "house", (Lane("a", "eagle", ODD), Lane("b", "a/folder b", ODD)), 3)
)


def test_form_values_of_a_race_give_the_same_race():
    for race in RACES:
        again = RaceRequest.from_form(*values(race)).race(any_model=True)
        assert (again.prompt, again.target) == (race.prompt, race.target)
        assert [(lane.drafter, lane.settings) for lane in again.lanes] == [
            (lane.drafter, lane.settings) for lane in race.lanes
        ]


def test_form_opens_with_the_first_recorded_race(monkeypatch):
    first = recorded.recipe(recorded.names()[0])
    assert form.opening() == list(values(first.race))
    monkeypatch.setattr(recorded, "names", lambda: ())
    assert form.opening()[-8:] == slots(request.presets()[0].lanes)
    assert RaceRequest.from_form(*form.opening()).race().shared.max_new_tokens == 64


def lanes(*typed):
    """The form's lanes, given drafters and settings."""
    return {"lanes": tuple(FormLane(*pair) for pair in typed)}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lanes(("ngram", "")), "A race has 2 to 4 lanes besides plain decoding, not 1"),
        (lanes(*[("ngram", "")] * 5), "A race has at most 4 lanes"),
        (lanes(("ngram", ""), ("ngram", "gamma")), "Lane 2: 'gamma' is not a setting"),
        (lanes(("ngram", ""), ("ngram", "gamma=x")), "Lane 2: γ must be a number, not 'x'."),
        (
            lanes(("ngram", ""), ("ngram", "colour=red")),
            "Lane 2: there is no setting called colour.",
        ),
        (lanes(("ngram", "gamma='3"), ("ngram", "")), "Lane 1: No closing quotation."),
        (lanes(("ngram", "gamma=0"), ("ngram", "")), "Lane 1: γ must be"),
        (lanes(("ngram", "help=1"), ("ngram", "")), "Lane 1: there is no setting called help."),
        (lanes(("ngram", "x" * 1001), ("ngram", "")), "Lane 1: the settings are longer"),
        (lanes(("ngram", ""), ("a/b", "")), "Lane 2: No drafter is called 'a/b' here"),
        (
            lanes(("ngram", "temperature=1"), ("ngram", "")),
            "All lanes of a race must have the same temperature",
        ),
        ({"target": "a/b"}, "No target is called 'a/b' here"),
        ({"prompt": "x" * (LONGEST_PROMPT + 1)}, "The prompt is longer than 4,000 characters"),
        ({"prompt": None}, "The prompt must be text"),
        ({"prompt": "half \ud83e"}, "The prompt contains half a character"),
        ({"temperature": None}, "Temperature must be a number"),
        ({"temperature": -1}, "Temperature must be"),
        ({"top_k": 1.5}, "Top-k must be a whole number"),
        ({"top_p": 0}, "Top-p must be"),
        ({"seed": "many"}, "The seed must be a number"),
        ({"new_tokens": 0}, "New tokens must be"),
    ],
)
def test_invalid_race_is_rejected_with_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=r".") as problem:
        replace(USUAL, **change).race()
    assert str(problem.value).startswith(sentence)
    assert "\n" not in str(problem.value)


def test_models_outside_the_catalogue_need_permission():
    mine = (FormLane("/my models/draft", "gamma=3"), FormLane("ngram", ""))
    own = replace(USUAL, target="my/target", lanes=mine)
    race = own.race(any_model=True)
    assert (race.target, race.lanes[0].drafter) == ("my/target", "/my models/draft")
    assert race.lanes[0].settings.gamma == 3
