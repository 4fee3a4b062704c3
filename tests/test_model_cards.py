"""measured.json, and the model cards that are generated from it."""

import json
import shutil
from dataclasses import replace

import pytest
import tiny

from specviz.bench import methods as entrants
from specviz.bench.measure import take_turns
from specviz.bench.methods import Prompt
from specviz.catalog import entries, find
from specviz.commands.cli import main
from specviz.drafters.common.rank_paths import chosen_paths
from specviz.drafters.eagle import width_under
from specviz.drafters.ngram import NGram
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import ASSETS
from specviz.training import measure
from specviz.training.card import StaleMeasurements, single_head
from specviz.training.card.models_card import guess_count, head_count, write_card
from specviz.training.card.rendering import percents
from specviz.training.measure import MeasurementPlan, measure_drafters, to_text

MODELS = ASSETS / "models"
SHORT = MeasurementPlan(prompts=1, new_tokens=8, drafters=("ngram", "oracle", "medusa"))
HASH = "f" * 64
ABSENT = "'medusa' is not on this machine."


@pytest.fixture(scope="module")
def facts():
    """Measure drafters without weights on the tiny target; one drafter is not available."""

    def load(name, target):
        if name == "medusa":
            raise entrants.NotAvailable(ABSENT)
        return whole(name, target)

    whole = entrants.load_drafter
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entrants, "prompts", lambda: {"a": [tiny.PROMPT, "The dog"], "b": ["The"]})
        patch.setattr(entrants, "load_drafter", load)
        target = tiny.target()
        target.card = replace(target.card, hash=HASH, bytes=7)  # an oracle's card has them too
        return json.loads(to_text(measure_drafters(target, SHORT)))


@pytest.mark.slow
def test_measurements_have_all_rows_the_machine_versions_and_hashes(facts):
    told = [(row["name"], row["temperature"], row["domain"]) for row in facts["rows"]]
    drafters = ("ngram", "oracle")
    assert told == [(name, t, domain) for name in drafters for t in (0, 1) for domain in "ab"]
    for row in facts["rows"]:
        assert row["tokens_per_pass"] >= 1
        assert row["ratio_to_plain"] > 0
        assert (row["held_bytes"] > 0) is (row["name"] == "oracle")  # its cache; lookup has none
        assert len(row["kept_by_depth"]) == len(row["judged_by_depth"])
        if row["name"] == "oracle":  # the target itself accepts everything at temperature 0
            assert row["alpha"] == pytest.approx(1, abs=1e-3)
            assert row["round_draft_cost"] > 0
            assert row["round_check_cost"] > 0
    assert facts["left_out"] == {"medusa": ABSENT}
    assert facts["drafters"]["ngram"]["settings"] == {"gamma": 10, "schedule": "fixed"}
    for about in facts["drafters"].values():  # neither has weights of its own
        assert (about["hash"], about["bytes"], about["parameters"]) == (None, 0, 0)
    assert (facts["dtype"], facts["threads"], facts["target"]) == ("float32", 1, HASH)
    assert (facts["prompts"], facts["new_tokens"]) == (1, 8)
    assert facts["versions"].keys() >= {"torch", "transformers", "python"}
    assert facts["machine"].keys() == {"device", "processor"}


@pytest.mark.slow
def test_each_measured_drafter_alternates_with_plain_decoding(tiny_target, monkeypatch):
    seen = []

    def spied(target, methods, prompts, *rest):
        seen.append(([method.name for method in methods], methods[1].settings))
        return take_turns(target, methods, prompts, *rest)

    monkeypatch.setattr("specviz.bench.measure.take_turns", spied)
    monkeypatch.setattr(entrants, "prompts", lambda: {"a": ["The"]})
    measure_drafters(tiny_target, replace(SHORT, drafters=("ngram", "uniform"), new_tokens=4))
    assert [names for names, _ in seen] == [
        ["plain", n] for n in ("ngram", "uniform") for _ in "01"
    ]
    assert [settings.sampling.temperature for _, settings in seen] == [0, 1, 0, 1]
    assert {settings.max_new_tokens for _, settings in seen} == {4}


def test_each_drafter_is_measured_with_its_default_settings():
    extent = MeasurementPlan(new_tokens=48)
    for name in entrants.drafter_names("house", None):
        settings = extent.settings(name, 1.0)
        assert settings.sampling == Sampling(temperature=1.0)
        assert settings.max_new_tokens == 48
        for field, value in find(name, "drafter").usual.items():
            assert getattr(settings, field) == value


def test_measurements_of_some_drafters_are_added_to_those_of_the_others():
    same = {key: key for key in measure.MUST_AGREE}

    def facts(names, value):
        rows = [{"name": name, "alpha": value} for name in names]
        part = {"drafters": dict.fromkeys(names, value), "rows": rows}
        return {**same, **part, "same_budget": {"guesses": 25, **part}}

    found = measure.merged(facts("ab", 1), facts("bc", 2))
    for part in (found, found["same_budget"]):
        assert part["drafters"] == {"a": 1, "b": 2, "c": 2}
        assert [(row["name"], row["alpha"]) for row in part["rows"]] == [
            ("a", 1),
            ("b", 2),
            ("c", 2),
        ]
    with pytest.raises(ValueError, match="measured with threads 2, not threads"):
        measure.merged(facts("ab", 1) | {"threads": 2}, facts("bc", 2))


def test_equal_budget_is_the_size_of_the_static_eagle_tree():
    asked = Settings(gamma=len(measure.SIBLINGS), siblings=measure.SIBLINGS)
    level, found = [()], []
    for _ in range(asked.gamma):
        level = [(*path, rank) for path in level for rank in range(width_under(asked, path))]
        found += level
    assert found == [tuple(path) for path in measure.eagle_paths()]
    assert len(found) == measure.BUDGET == 25


def test_drafts_measured_with_equal_budget_have_equal_size():
    shapes = set()
    for name in measure.TREE_DRAFTERS:
        settings = MeasurementPlan().equal_budget_settings(name, 0.0)
        assert settings.gamma == 4
        reads = find(name, "drafter").reads
        if "budget" in reads:
            shapes.add("budget")
            assert settings.budget == measure.BUDGET
            wide, deep = settings.fan_out, settings.gamma
            assert wide + (deep - 1) * wide**2 >= measure.BUDGET, "no more can be weighed"
        elif "rank_paths" in reads:
            shapes.add("paths")
            assert len(chosen_paths(settings)) == measure.BUDGET
        else:
            shapes.add("siblings")
            assert settings.siblings == measure.SIBLINGS
    assert shapes == {"budget", "paths", "siblings"}
    assert measure.equal_budget_settings("ngram") is None


def test_equal_budget_measurements_contain_no_times(tiny_target, monkeypatch):
    monkeypatch.setattr(measure, "equal_budget_settings", lambda _: {"gamma": 2})
    domains = {"a": [Prompt("The", tuple(tiny_target.encode("The", 4)))]}
    taking = [measure.Entrant(NGram(), Settings())]
    extent = MeasurementPlan(prompts=1, new_tokens=4)
    found = measure._same_budget(tiny_target, taking, domains, extent)
    assert found["drafters"]["ngram"]["settings"]["gamma"] == 2
    assert [row["temperature"] for row in found["rows"]] == [0, 1]
    assert not [key for row in found["rows"] for key in row if "ratio" in key or "cost" in key]
    assert {row["name"] for row in found["rows"]} == {"ngram"}


def test_unmeasurable_folder_raises_readable_error(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, sentence in (
        ("--drafters nobody", "has no drafter 'nobody'"),
        ("--out elsewhere", "Only the app's own models"),
    ):
        assert main(["train", "measure", "--threads", "1", *option.split()]) == 2
        assert sentence in capsys.readouterr().err


def test_share_computed_from_few_cases_is_shown_as_a_dash():
    assert percents([0.914, None, 0.5, 0.25], [50, 0, 9, 10], 10) == "91 · – · – · 25"
    assert percents([0.914, 0.5], [50, 3], 10) == "91"
    assert percents(None, [], 10) == "–"


# The model card; its text is compared as a whole with the one that ships.


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the shipped models and measurements."""
    for path in MODELS.iterdir():
        (tmp_path / path.name).symlink_to(path)
    assert write_card_again(tmp_path) == (MODELS / "README.md").read_text(encoding="utf-8")
    return tmp_path


def write_card_again(folder):
    """Write the card, but not through the link to the shipped one."""
    (folder / "README.md").unlink(missing_ok=True)
    return write_card(folder).read_text(encoding="utf-8")


@pytest.mark.parametrize("weights", ["trained again", None])
@pytest.mark.parametrize("name", ["target", "eagle"])
def test_measurements_of_other_weights_are_refused(folder, name, weights):
    (folder / name).unlink()
    (folder / name).mkdir()
    shutil.copy(MODELS / name / "manifest.json", folder / name)
    if weights:
        (folder / name / "model.safetensors").write_text(weights)
    with pytest.raises(StaleMeasurements, match=name):
        write_card_again(folder)


def test_equal_budget_measurements_of_other_weights_are_refused(folder):
    facts = json.loads((folder / "measured.json").read_text())
    facts["same_budget"]["drafters"]["eagle"]["hash"] = "0" * 64
    (folder / "measured.json").unlink()
    (folder / "measured.json").write_text(json.dumps(facts))
    with pytest.raises(StaleMeasurements, match="eagle"):
        write_card_again(folder)


def test_card_without_measurements_says_so(folder):
    (folder / "measured.json").unlink()
    assert "\n\nNot measured yet: run `python -m" in write_card_again(folder)


def test_catalogue_states_how_each_drafter_differs_from_its_paper():
    assert all(entry.differences for entry in entries() if entry.kind == "drafter")


def test_number_of_guesses_on_the_model_card_agrees_with_the_measurements():
    """Sizes follow the catalogue and the checkpoints, and the measurements agree with them."""
    names = ("eagle", "eagle2", "medusa", "moa", "mtp-parallel")
    found = {name: guess_count(find(name, "drafter")) for name in names}
    assert found == {"eagle": 9, "eagle2": 10, "medusa": 8, "moa": 10, "mtp-parallel": 10}
    assert [head_count(find(name, "drafter")) for name in ("medusa", "lmtp")] == [4, 3]
    rows = json.loads((MODELS / "measured.json").read_text(encoding="utf-8"))["rows"]
    for entry in (entry for entry in entries() if entry.smaller):
        most = max(row["guesses_per_round"] for row in rows if row["name"] == entry.name)
        assert 0.9 * guess_count(entry) <= most <= guess_count(entry), entry.name


PUBLIC_LINE = {"question_id": 81, "category": "writing", "turns": ["The dog", "Again."]}


def test_public_questions_are_measured_by_category_without_timing(
    tiny_target, tmp_path, monkeypatch
):
    file = tmp_path / "questions.jsonl"
    rows = [PUBLIC_LINE, PUBLIC_LINE | {"category": "maths", "turns": ["The"]}, PUBLIC_LINE]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    monkeypatch.setattr("specviz.bench.measure.take_turns", None)
    plan = MeasurementPlan(new_tokens=6, drafters=("ngram", "oracle"))
    found = measure.measure_public(tiny_target, plan, measure.first_turns(file))
    assert found["questions"] == {"writing": 2, "maths": 1}
    assert [(r["name"], r["temperature"], r["domain"]) for r in found["rows"]] == [
        (name, t, domain)
        for name in ("ngram", "oracle")
        for t in (0, 1)
        for domain in ("writing", "maths")
    ]
    oracle = next(row for row in found["rows"] if row["name"] == "oracle")
    assert oracle["tokens_per_pass"] > 2
    assert json.loads(to_text(found)) == found


def test_error_names_a_line_that_is_not_a_public_question(tmp_path):
    file = tmp_path / "questions.jsonl"
    for line in (
        "{", "[]", '{"turns": ["x"]}', '{"category": "a", "turns": []}',
        '{"category": "a", "turns": [1]}', '{"category": 1, "turns": ["x"]}',
    ):  # fmt: skip
        file.write_text(json.dumps(PUBLIC_LINE) + "\n" + line)
        with pytest.raises(ValueError, match=r"Line 2 of questions.jsonl is not"):
            measure.first_turns(file)
    file.write_text("\n")
    with pytest.raises(ValueError, match="has no questions"):
        measure.first_turns(file)


def test_public_questions_are_added_to_the_measurements(tmp_path, monkeypatch, tiny_target):
    file, models = tmp_path / "questions.jsonl", tmp_path / "models"
    file.write_text(json.dumps(PUBLIC_LINE))
    models.mkdir()
    (models / "measured.json").write_text(json.dumps({"rows": [1, 2]}))
    monkeypatch.setattr(measure, "measurement_folders", lambda _: [models])
    monkeypatch.setattr(measure, "load_target", lambda *_: tiny_target)
    plan = MeasurementPlan(new_tokens=4, drafters=("ngram",), public=file)
    found = json.loads(measure.write_measured(models, plan).read_text())
    assert found["rows"] == [1, 2]
    assert found["public"]["file"] == "questions.jsonl"
    assert len(found["public"]["rows"]) == 2


LONE = [
    e for e in entries() if e.kind == "drafter" and e.path and e.made_for not in (None, "house")
]


@pytest.mark.parametrize("entry", LONE, ids=lambda entry: entry.name)
def test_card_of_a_single_head_matches_its_manifest_and_measurements(entry, monkeypatch):
    text = (entry.path / "README.md").read_text(encoding="utf-8")
    assert text == single_head.single_head_card(entry.path)
    with pytest.raises(ValueError, match="no head in"):
        single_head.single_head_card(MODELS / "eagle3" / "nowhere")
    numbers = single_head._numbers(entry.path, entry.name)
    for temperature in ("0", "1"):  # both prompts like its training text and public ones
        cells = [
            row["tokens_per_pass"]
            for row in numbers["public"]["rows"]
            if (row["name"], f"{row['temperature']:g}") == (entry.name, temperature)
        ]
        mean = f"{len(cells) / sum(1 / each for each in cells):.2f}"
        assert f"| `{entry.name}` | {temperature} | {mean} | " in text
    monkeypatch.setattr(single_head, "fingerprint", lambda _files: "f" * 64)
    with pytest.raises(StaleMeasurements, match=f"measure {entry.name} again"):
        single_head.single_head_card(entry.path)


def test_card_of_a_head_adds_up_its_training_runs(monkeypatch):
    folder = find("eagle3-smollm2", "drafter").path
    first = single_head.read_manifest(folder)
    counts = {"stories": {"training": 1000, "held_out": 7}, "songs": {"training": 5, "held_out": 0}}
    recipe = {**first["recipe"], "seed": 9}
    second = {**first, "recipe": recipe, "steps": 11, "corpus_tokens": counts, "before": first}
    third = {**second, "steps": 12, "before": second}
    monkeypatch.setattr(single_head, "read_manifest", lambda _folder: third)
    text = single_head.single_head_card(folder)
    tokens = first["corpus_tokens"]["stories"]["training"] + 2000
    assert f"| stories | {tokens:,} | 7 |" in text
    assert "| songs | 10 | 0 |" in text
    assert text.count("Then its training continued on new answers") == 2
    assert text.index("2,197 batches") < text.index("; 11 batches") < text.index("; 12 batches")
    *_, last = (line for line in text.splitlines() if "train heads" in line)
    assert "--data ANSWERS-3" in last
    assert last.endswith("--start EARLIER-2/eagle3")
    assert "train questions --corpus CORPUS --count 12000 --seed 9" in text


def test_heads_of_another_target_have_their_own_measurements():
    assert measure.measurement_folders("smollm2") == [find("eagle3-smollm2", "drafter").path]
    assert measure.measurement_folders("nobody") == []


def test_card_of_a_head_on_another_target_has_its_predicted_acceptance(facts, monkeypatch):
    """The table is the same as on the house models' card."""
    entry = find("eagle3-smollm2", "drafter")
    rows = [row | {"name": entry.name} for row in facts["rows"] if row["name"] == "ngram"]
    found = facts | {"drafters": {entry.name: facts["drafters"]["ngram"]}, "rows": rows}
    monkeypatch.setattr(single_head, "_numbers", lambda *_: found)
    assert "### Predicted" not in single_head.single_head_card(entry.path)
    for row in rows:
        row["reliability"] = [[40.0, 0.25, 0.5]]
    assert "| 0.250 | 0.25 → 0.50 (80) |" in single_head.single_head_card(entry.path)
