"""What ships with the app: the house pair decodes as it should; recorded runs are its own."""

from __future__ import annotations

import json

import pytest
import torch
from driven import Shifted

from specviz.catalog import entries, load
from specviz.catalog.entry import filled
from specviz.engine.decode import run
from specviz.models.files import fingerprint, weight_files
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import FOLDER, Recipe, prompts, recipes
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.metrics import difference, near_tie, summary, token_ids

DRAFTERS = [entry.name for entry in entries() if entry.kind == "drafter"]
LEARNED = [entry.name for entry in entries() if entry.kind == "drafter" and entry.folder]
GREEDY = Settings(Sampling(0.0), max_new_tokens=32, gamma=4)


def usual(drafter, **given):
    return Settings.from_json(filled(drafter, given))


def traced(pair, prompt, settings):
    header, *events = run(*pair, prompt, settings)
    return Trace(header, events)


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("domain", prompts())
def test_the_house_pair_decodes_greedily_as_transformers_generates(drafter, domain):
    pair = load("house", drafter, "cpu")
    settings = usual(drafter, max_new_tokens=32, sampling={"temperature": 0.0})
    for prompt in prompts()[domain][: 3 if drafter == "draft-model" else 1]:
        trace = traced(pair, prompt, settings)
        check(trace)
        found = difference(trace)
        assert found is None or found.near_tie
        ids = torch.tensor([trace.header.prompt_ids])
        whole = pair[0].model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=32, do_sample=False
        )
        theirs = whole[0, ids.shape[1] :].tolist()
        margins = trace.baseline.margins
        pairs = zip(trace.baseline.token_ids, theirs, strict=False)
        apart = next((i for i, (ours, other) in enumerate(pairs) if ours != other), None)
        assert apart is not None or trace.baseline.token_ids == theirs
        assert apart is None or near_tie(margins[apart], "float32")
        if found is None and apart is None:
            assert token_ids(trace) == theirs


@pytest.mark.parametrize("drafter", LEARNED)
def test_every_learned_drafter_learned_something(drafter):
    settings = usual(drafter, max_new_tokens=48, seed=3, sampling={"temperature": 0.8})
    trace = traced(load("house", drafter, "cpu"), prompts()["dialogues"][0], settings)
    check(trace)
    assert summary(trace)["tokens_per_pass"] > 1.3


@pytest.mark.parametrize("name", ["eagle", "eagle2", "eagle3"])
def test_a_state_that_is_off_by_one_spoils_what_the_shipped_head_learned(name):
    target, drafter = load("house", name, "cpu")
    settings = usual(name, max_new_tokens=48, sampling={"temperature": 0.0})
    right, wrong = (
        sum(
            summary(traced((target, made), prompt, settings))["accepted_length"]
            for prompt in prompts()["stories"][:2]
        )
        for made in (drafter, Shifted(drafter))
    )
    assert wrong < 0.8 * right  # what is left is the words alone


@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_sampled_house_runs_check_and_keep_some_guesses(candidates):
    settings = Settings(Sampling(0.8, top_k=50, top_p=0.95), candidates=candidates)
    trace = traced(load("house", "draft-model", "cpu"), prompts()["stories"][0], settings)
    check(trace)
    assert summary(trace)["accepted_length"] > 0.3


def test_lookup_copies_where_a_text_is_told_again():
    numbers = [
        summary(traced(load("house", "ngram", "cpu"), prompt, GREEDY))
        for prompt in prompts()["repeat"]
    ]
    assert max(n["tokens_per_pass"] for n in numbers) > 1.5


def test_the_weights_fit_in_the_weights_budget():
    files = {file for entry in entries() if entry.path for file in weight_files(entry.path)}
    assert len(files) == len({entry.path for entry in entries() if entry.path})
    assert sum(file.stat().st_size for file in files) < 48e6


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_recorded_run_checks_and_is_what_its_recipe_says(recipe: Recipe):
    trace = Trace.read(FOLDER / f"{recipe.name}.jsonl")
    check(trace)
    head = trace.header
    assert head.prompt == recipe.text
    wanted = filled(recipe.drafter, recipe.settings)
    assert head.drafter.family == recipe.drafter
    assert trace.baseline is not None
    target = next(e for e in entries() if e.name == "house")
    assert target.path is not None
    layers = json.loads((target.path / "config.json").read_text())["num_hidden_layers"]
    assert Settings.from_json(head.settings) == Settings.from_json(wanted).at_depth(layers)
    assert head.target.hash == fingerprint(weight_files(target.path)), "recorded by older weights"
    drafter = next(e for e in entries() if e.name == recipe.drafter)
    own = fingerprint(weight_files(drafter.path)) if drafter.path else None
    drafted_by = head.target.hash if recipe.drafter == "oracle" else own
    assert head.drafter.hash == drafted_by, "recorded by older weights"


def test_every_recorded_run_has_a_recipe():
    assert sorted(p.stem for p in FOLDER.glob("*.jsonl")) == sorted(r.name for r in recipes())


def test_recorded_runs_show_what_a_visitor_should_meet():
    traces = [Trace.read(FOLDER / f"{recipe.name}.jsonl") for recipe in recipes()]
    rounds = [played for trace in traces for played in trace.rounds[1:]]
    kinds = {played.drew.kind for played in rounds if played.drew}
    assert kinds == {"recovered", "bonus", "plain"}
    lookups = [r for t in traces if t.header.drafter.family == "ngram" for r in t.rounds[1:]]
    assert any(not r.proposed.guesses for r in lookups), "a lookup that found nothing"
    assert any(r.proposed.guesses and not r.judged[0].accepted for r in lookups), "a miss"
    assert any(r.judged and r.judged[-1].accepted for r in lookups), "a clean sweep of a lookup"
    first = traces[0].rounds[1:6]
    assert any(r.judged and not r.judged[-1].accepted for r in first), "an early rejection"


def test_recipes_are_whole():
    rows = json.loads((FOLDER / "recipes.json").read_text())
    assert len({row["name"] for row in rows}) == len(rows) >= 8
    assert {recipe.prompt[0] for recipe in recipes()} == set(prompts())
    assert {recipe.drafter for recipe in recipes()} == set(DRAFTERS)
