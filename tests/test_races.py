"""Races: the form that starts them; recorded races, saved and read, served, and their recipes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain

import pytest
import tiny
import torch
from starlette.applications import Starlette
from starlette.testclient import TestClient

from specviz.catalog.entry import entries, find, with_defaults
from specviz.commands.cli import main
from specviz.compare import storage as shipped
from specviz.compare.race import PLAIN, Lane, LaneProgress, Race, Results
from specviz.compare.run import run
from specviz.compare.storage import FILE, FOLDER, RaceRecipe, SavedError, read, recipes, write
from specviz.compare.summary import race_summary
from specviz.drafters.ngram import NGram
from specviz.frames.scene import word
from specviz.models.devices import describe_machine
from specviz.models.files import fingerprint, weight_files
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import token_ids
from specviz.ui import server
from specviz.ui.compare.race import form, recorded, request
from specviz.ui.compare.race.lines import replay
from specviz.ui.compare.race.replay import RACE as RACE_FILE
from specviz.ui.compare.race.request import RaceRequest, form_lane, slots, suited_lane, values
from specviz.ui.request import LONGEST_PROMPT

DRAFTERS = [entry.name for entry in entries() if entry.kind == "drafter"]
TWO = (suited_lane("ngram"), suited_lane("draft-model", gamma=2))
SHARED = {
    "temperature": 0, "top_k": 0, "top_p": 1, "seed": 7, "max_new_tokens": 12, "chat": "auto",
    "system": "",
}  # fmt: skip
USUAL = RaceRequest("Once", "house", SHARED, TWO)


def test_values_of_the_form_become_a_race_with_a_random_order(monkeypatch):
    monkeypatch.setattr(request.secrets, "randbits", lambda _: 11)
    race = USUAL.race()
    assert (race.prompt, race.target, race.order_seed) == ("Once", "house", 11)
    assert race.sampling == Sampling(0, 0, 1)
    assert (race.shared.seed, race.shared.max_new_tokens) == (7, 12)
    lanes = [(lane.drafter, lane.settings.gamma) for lane in race.lanes]
    assert lanes == [("ngram", 10), ("draft-model", 2)]


def test_same_drafter_may_have_several_lanes():
    lanes = (TWO[1], suited_lane("draft-model", gamma=8))
    named = replace(USUAL, lanes=lanes).race().lanes
    assert [lane.settings.gamma for lane in named] == [2, 8]
    twins = replace(USUAL, lanes=(TWO[1],) * 3).race().lanes
    assert len({lane.name for lane in twins}) == 3


def test_empty_lanes_of_the_form_are_skipped():
    two = (suited_lane("ngram"), suited_lane("suffix", gamma=4))
    size = len(slots([])) // 4
    first, second, unused = (slots(lanes)[:size] for lanes in (two[:1], two[1:], []))
    found = RaceRequest.from_form("Once", "house", *SHARED.values(), *first, *unused, *second)
    assert found.lanes == two
    assert found.shared == SHARED


def test_all_lanes_share_the_chat_fields_unless_the_form_hides_them():
    shared = {**SHARED, "chat": "chat", "system": "Be brief."}
    asked = replace(USUAL, shared=shared)
    for lane in replace(asked, target="smollm2").race(any_model=True).lanes:
        assert (lane.settings.chat, lane.settings.system) == ("chat", "Be brief.")
    assert (asked.race().shared.chat, asked.race().shared.system) == ("auto", "")
    with pytest.raises(BadSettings, match="prompt's form"):
        replace(USUAL, target="smollm2", shared={**shared, "chat": "sung"}).race(any_model=True)


def test_lane_has_the_default_settings_of_its_drafter_and_says_them():
    shared = {"sampling": {"temperature": 0.0}, "seed": 7, "max_new_tokens": 12}
    for name in DRAFTERS:
        race = replace(USUAL, lanes=(suited_lane(name), TWO[0])).race()
        assert race.lanes[0].settings == Settings.from_json(with_defaults(name, shared)), name
    assert suited_lane("eagle3").described("house") == "γ 5 · budget 10 (default)"
    assert suited_lane("eagle3", gamma=3).described("house") == "γ 3 · budget 10"
    assert suited_lane("eagle3").described("smollm2") == (
        "made for House: it cannot draft for SmolLM2"
    )
    assert suited_lane("/my models/draft").described("my/target") == "γ 5 (default)"
    wrong = suited_lane("ngram", gamma="many")
    assert wrong.described("house").startswith("γ must be a number")


def test_every_preset_is_a_valid_race():
    for preset in request.presets():
        race = replace(USUAL, lanes=preset.lanes).race(any_model=False)
        assert 2 <= len(race.lanes) <= 4
        for lane in race.lanes:
            usual = with_defaults(lane.drafter, {})
            changed = {
                name for name, value in lane.settings.to_json().items() if value != usual[name]
            } - {"sampling", "seed", "max_new_tokens"}
            assert changed <= set(find(lane.drafter, "drafter").reads), preset.name


def test_equal_bytes_preset_has_nearly_equal_sizes():
    preset = next(p for p in request.presets() if p.name == "bytes")
    sizes = [request.weights()[lane.drafter] for lane in preset.lanes]
    assert max(sizes) / min(sizes) < 1.1
    assert all(f"{size / 1e6:.1f} MB" in preset.sentence for size in sizes)


RACES = [recipe.race for recipe in map(recorded.recipe, recorded.names()) if recipe]
ODD = Settings(
    sampling=Sampling(0.7, 5, 0.9), rule="point-mass", siblings=[2, 1], schedule="learning",
    rank_paths=[[0], [0, 1]], confidence=0.25,
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
    assert form.opening() == first.race
    monkeypatch.setattr(recorded, "names", lambda: ())
    made = form.opening()
    assert tuple(map(form_lane, made.lanes)) == request.presets()[0].lanes
    assert (made.shared.max_new_tokens, made.sampling.temperature) == (64, 0.0)


def test_lanes_are_added_and_removed_within_the_limits_of_a_race():
    two = slots(TWO)
    three = form.added(*two)
    assert [lane.drafter for lane in request.lanes_of(three)] == ["ngram", "draft-model", "medusa"]
    assert form.removed(2, *three) == two
    assert form.removed(0, *two) == two, "a race has two lanes at least"
    four = form.added(*three)
    assert form.added(*four) == four
    assert len({lane.drafter for lane in request.lanes_of(four)}) == 4


def lanes(*each):
    return {"lanes": each}


def shared(**changes):
    return {"shared": SHARED | changes}


WRONG = [
    (lanes(TWO[0]), "A race has 2 to 4 lanes besides plain decoding, not 1"),
    (lanes(*[TWO[0]] * 5), "A race has at most 4 lanes"),
    (lanes(TWO[0], suited_lane("ngram", gamma="x")), "Lane 2: γ must be a number"),
    (lanes(suited_lane("eagle", siblings=[99]), TWO[0]), "Lane 1: A node can have 1 to 8 guesses"),
    (lanes(TWO[0], suited_lane("a/b")), "Lane 2: No drafter is called 'a/b' here"),
    ({"target": "a/b"}, "No target is called 'a/b' here"),
    ({"prompt": "x" * (LONGEST_PROMPT + 1)}, "The prompt is longer than 4,000 characters"),
    ({"prompt": None}, "The prompt must be text"),
    ({"prompt": "half \ud83e"}, "The prompt contains half a character"),
    (shared(temperature=None), "Temperature must be a number"),
    (shared(top_k=1.5), "Top-k must be a whole number"),
    (shared(seed="many"), "The seed must be a number"),
]


def test_invalid_race_is_rejected_with_one_sentence():
    for change, sentence in WRONG:
        with pytest.raises(ValueError, match=r".") as problem:
            replace(USUAL, **change).race()
        assert str(problem.value).startswith(sentence)
        assert "\n" not in str(problem.value)


def test_models_outside_the_catalogue_need_permission(tmp_path):
    mine = (suited_lane("/my models/draft", gamma=3), TWO[0])
    own = replace(USUAL, target="my/target", lanes=mine)
    race = own.race(any_model=True)
    assert (race.target, race.lanes[0].drafter) == ("my/target", "/my models/draft")
    assert race.lanes[0].settings.gamma == 3
    (tmp_path / "draft").mkdir()
    found = replace(own, lanes=(suited_lane(str(tmp_path / "draft")), TWO[0]))
    assert found.race(any_model=True).lanes[0].name == "draft", "its path is not shown"


# Recorded races


GREEDY = Settings(Sampling(temperature=0), max_new_tokens=16, gamma=3)
LANES = (
    Lane("Draft ‹model›", "draft-model", GREEDY),
    Lane("../n-gram", "ngram", replace(GREEDY, gamma=5)),
)
RACE = Race(tiny.PROMPT, "house", LANES, 2)
FIRST = RACE.order[0]


@pytest.fixture(scope="module")
def raced(tiny_target):
    """A race of the tiny models; one lane has a hostile name."""
    small = tiny.draft(tiny.blurred(tiny.llama(), 0.1))
    results = Results(RACE)
    for event in run(tiny_target, {LANES[0].name: small, LANES[1].name: NGram()}, RACE):
        results.add(event)
    return results


# The folder


@pytest.mark.slow
def test_saved_race_has_the_same_traces_and_numbers(raced, tmp_path):
    folder = tmp_path / "race"
    folder.mkdir()
    (folder / "9-old.jsonl").write_text("of an older race")
    write(folder, raced)
    again = read(folder)
    assert again == raced
    assert list(again.traces) == list(raced.order)
    assert race_summary(again) == race_summary(raced)
    assert all(lane["flops_per_token"] > 0 for lane in race_summary(again)["lanes"])
    assert [path.name for path in tmp_path.iterdir()] == ["race"], "whatever the lanes' names"
    names = {"plain": "plain", "../n-gram": "n-gram", "Draft ‹model›": "draft-model"}
    made = [f"{at}-{names[name]}.jsonl" for at, name in enumerate(raced.order, start=1)]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*made, FILE])


def test_only_a_race_that_started_is_saved_with_every_lane_that_started(tiny_target, tmp_path):
    half, passes = Results(RACE), []
    drafters = {lane.name: NGram() for lane in LANES}
    for event in run(tiny_target, drafters, RACE, lambda: len(passes) > 3):
        half.add(event)
        if isinstance(event, LaneProgress):
            passes.append(event)
    with pytest.raises(ValueError, match="has not started"):
        write(tmp_path / "none", Results(RACE))
    assert not [*tmp_path.iterdir()]
    write(tmp_path, half)
    assert read(tmp_path) == half
    assert len(half.traces) == 1
    assert not race_summary(half)["complete"]


DAMAGES = [
    ({"version": 2}, "is not a specviz-race file of version 1"),
    ({"order_seed": "one"}, "order_seed cannot be 'one'"),
    ({"lanes": []}, "2 to 4 lanes"),
    ({"order": ["plain"]}, "and their order do not match"),
    ({"traces": {}}, "and their order do not match"),
    ({"traces": {FIRST: "../1-plain.jsonl"}}, "a trace file is outside the folder"),
    ({"traces": {"someone": "1-plain.jsonl"}}, "and their order do not match"),
    ({"traces": {FIRST: "none.jsonl"}}, r"cannot be read: No such file or directory\.$"),
]


def test_damaged_race_folder_is_reported_in_one_sentence(raced, tmp_path):
    with pytest.raises(SavedError, match=r"cannot be read: No such"):
        read(tmp_path)
    write(tmp_path, raced)
    whole = json.loads((tmp_path / FILE).read_text())
    for changes, sentence in DAMAGES:
        (tmp_path / FILE).write_text(json.dumps(whole | changes))
        with pytest.raises(SavedError, match=sentence):
            read(tmp_path)
    (tmp_path / FILE).write_text("{")
    with pytest.raises(SavedError, match=r"cannot be read: Expecting"):
        read(tmp_path)


# Lines and the route


def test_recorded_race_sends_every_lane_once_and_the_numbers_once(raced):
    lines = [json.loads(line) for line in "".join(replay(raced, "1-a")).splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds == ["race", *["started", "ended"] * 3, "summary"]
    assert (lines[0]["source"], lines[0]["id"]) == ("recorded", "1-a")
    assert lines[0]["order"] == list(raced.order)
    assert lines[-1]["whole"]["texts"]["same"] is not None
    for line in lines:
        if line["kind"] == "ended":
            trace = raced.with_baseline(line["lane"])
            ids = token_ids(trace) or trace.baseline.token_ids
            words = trace.vocabulary
            shown = [pieces for pieces, _ in chain(*line["brought"])]
            assert shown == [word(words[token]) for token in ids]
            assert len(line["passes"]) == len(line["brought"])


@pytest.fixture
def routes(raced, tmp_path, monkeypatch):
    write(tmp_path / "1-a-race", raced)
    (tmp_path / "2-no-race").mkdir()
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    for known in (recorded.names, recorded.body):
        known.cache_clear()
    with TestClient(Starlette(**server.app_kwargs()), "http://localhost") as client:
        yield client
    for known in (recorded.names, recorded.body):
        known.cache_clear()


def test_recorded_race_is_listed_on_the_page_and_cached_by_the_browser(routes):
    first = routes.get(f"{server.PREFIX}/races/1-a-race")
    assert first.status_code == 200
    assert first.headers["content-encoding"] == "gzip"
    assert json.loads(first.text.splitlines()[-1])["kind"] == "summary"
    again = {"If-None-Match": first.headers["etag"]}
    assert routes.get(f"{server.PREFIX}/races/1-a-race", headers=again).status_code == 304
    found = recorded.config()
    assert found["served"] is True
    assert routes.get(f"/{found['replay']}").text == RACE_FILE.shell
    assert found["races"] == "gradio_api/sv/races/"
    assert found["recorded"] == ["1-a-race"]


def test_only_files_of_recorded_races_are_served(routes, tmp_path):
    for name in ("none", "2-no-race", "..%2f1-a-race", "1-a-race%2frace.json"):
        assert routes.get(f"{server.PREFIX}/races/{name}").status_code == 404, name
    (tmp_path / "1-a-race" / FILE).write_text("{}")
    answer = routes.get(f"{server.PREFIX}/races/1-a-race")
    assert answer.status_code == 422
    assert "The race '1-a-race' cannot be read: missing" in answer.text
    assert str(tmp_path) not in answer.text


# What ships


def test_every_recorded_race_has_a_recipe_and_a_unique_title():
    assert list(recorded.names()) == sorted(recipe.name for recipe in recipes())
    titles = [recorded.title(name) for name in recorded.names()]
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 27
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 3e6


def at_depth(race):
    """Return the race with the settings that depend on the target's depth."""
    layers = 30 if race.target == "smollm2" else 12
    lanes = (replace(lane, settings=lane.settings.at_depth(layers)) for lane in race.lanes)
    return replace(race, lanes=tuple(lanes))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_recorded_race_passes_check_and_matches_its_recipe(recipe: RaceRecipe):
    results = read(FOLDER / recipe.name)
    assert at_depth(results.race) == at_depth(recipe.race)
    assert results.order == recipe.race.order
    assert results.complete
    hashes = {
        entry.name: fingerprint(weight_files(entry.path)) for entry in entries() if entry.path
    }
    drafters = {lane.name: lane.drafter for lane in recipe.race.lanes}
    for name in results.traces:
        trace = results.with_baseline(name)
        check(trace)
        assert trace.header.target.name == recipe.target
        if recipe.target == "house":
            assert trace.header.target.hash == hashes["house"], "recorded by older weights"
        if name != PLAIN:
            assert trace.header.drafter.hash == hashes.get(drafters[name]), "by older weights"
    for lane in race_summary(results)["lanes"]:
        parts = [part for part in lane["sentence_parts"] if isinstance(part, dict)]
        digits = {len(part["n"].partition(".")[2]) for part in parts if "n" in part}
        assert digits <= {lane["decimals"]}
        assert lane["decimals"] <= (2 if (lane["speedup"] or 0) < 1.5 else 3), "fast: costs divide"


# The command


@pytest.fixture
def small_recipe(monkeypatch, pair):
    """One recipe on the tiny models."""
    lanes = {"N-gram": ("ngram", {}), "Deep": ("ngram", {"gamma": 8})}
    greedy = {"sampling": {"temperature": 0}, "max_new_tokens": 8}
    recipe = RaceRecipe("1-tiny", "Tiny", tiny.PROMPT, 1, greedy, lanes, str(pair[0]))
    monkeypatch.setattr(shipped, "recipes", lambda: [recipe])
    return recipe


@pytest.mark.slow
def test_record_command_records_races_from_recipes(small_recipe, tmp_path, capsys):
    assert main(["record", "--only", "races/1-tiny", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("1-tiny: ")
    made = read(tmp_path / "1-tiny")
    assert made.complete
    assert [lane.settings.gamma for lane in made.race.lanes] == [10, 8]
    assert made.race.target == "big"
    machines = {trace.header.machine for trace in made.traces.values()}
    assert machines == {describe_machine(torch.device("cpu"))}
    assert [path.name for path in tmp_path.iterdir()] == ["1-tiny"]


def test_unknown_or_invalid_recipe_is_reported_in_one_sentence(small_recipe, capsys):
    assert main(["record", "--only", "no such recipe"]) != 0
    assert "'no such recipe'" in capsys.readouterr().err
    with pytest.raises(BadSettings, match="2 to 4 lanes"):
        _ = replace(small_recipe, lanes={}).race
