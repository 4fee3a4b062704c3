"""Shipped models and runs: House decodes exactly, and recorded runs match its weights."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import pytest
import torch
from recorded_runs import run as recorded_run
from test_engine import traced

from specviz.catalog import entries, load
from specviz.catalog.entry import find, weights_path, with_defaults
from specviz.engine.decode import run
from specviz.frames import Scene, frames
from specviz.frames.scene import flat
from specviz.models.files import fingerprint, is_gguf, weight_files
from specviz.models.served.http_client import is_served
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import ASSETS, FOLDER, prompts, recipes
from specviz.trace.check import check
from specviz.trace.events import Baseline, Vocabulary
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, near_tie, summary, token_ids

OWN = [e for e in entries() if e.kind == "drafter" and e.made_for in ("house", None)]
DRAFTERS = [entry.name for entry in OWN]
LEARNED = [entry.name for entry in OWN if entry.folder]
GREEDY = Settings(Sampling(0.0), max_new_tokens=32, gamma=4)
NIGHTLY = pytest.mark.nightly
LENGTH = 10  # new tokens, several rounds of any drafter


def usual(drafter, **given):
    return Settings.from_json(with_defaults(drafter, given))


@cache
def plainly(prompt):
    """Return plain decoding's events and vocabulary, and the tokens that transformers generates."""
    target, lookup = load("house", "ngram", "cpu")
    trace = traced(target, lookup, prompt, replace(GREEDY, max_new_tokens=LENGTH))
    ids = torch.tensor([trace.header.prompt_ids])
    whole = target.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=LENGTH, do_sample=False
    )
    told = [event for event in trace.events if isinstance(event, Vocabulary | Baseline)]
    return told, whole[0, ids.shape[1] :].tolist()


# One domain of each drafter is in the default tier.
CASES = [
    pytest.param(drafter, domain, marks=() if (at - n) % len(prompts()) == 0 else NIGHTLY)
    for at, drafter in enumerate(DRAFTERS)
    for n, domain in enumerate(prompts())
]


@pytest.mark.slow
@pytest.mark.parametrize(("drafter", "domain"), CASES)
def test_greedy_text_of_the_shipped_models_equals_transformers_generate(drafter, domain):
    pair = load("house", drafter, "cpu")
    settings = usual(drafter, max_new_tokens=LENGTH, sampling={"temperature": 0.0})
    for prompt in prompts()[domain][: 2 if drafter == "draft-model" else 1]:
        told, theirs = plainly(prompt)
        header, *events = run(*pair, prompt, settings, baseline=False)
        trace = Trace(header, [*events, *told])
        check(trace)
        found = baseline_difference(trace)
        assert found is None or found.near_tie
        margins = trace.baseline.margins
        pairs = zip(trace.baseline.token_ids, theirs, strict=False)
        apart = next((i for i, (ours, other) in enumerate(pairs) if ours != other), None)
        assert apart is not None or trace.baseline.token_ids == theirs
        assert apart is None or near_tie(margins[apart], "float32")
        if found is None and apart is None:
            assert token_ids(trace) == theirs


@pytest.mark.slow
@pytest.mark.parametrize("drafter", LEARNED)
def test_every_trained_drafter_saves_target_passes_on_sampled_text(drafter):
    settings = usual(drafter, max_new_tokens=32, seed=3, sampling={"temperature": 0.8})
    pair = load("house", drafter, "cpu")
    trace = traced(*pair, prompts()["dialogues"][0], settings, baseline=False)
    check(trace)
    assert summary(trace)["tokens_per_pass"] > 1.3


def test_shipped_weight_files_stay_within_their_size_limit():
    """House may take 62 MB with the projections that only vLLM reads, 53 MB without them."""
    made = {entry.path: entry.made_for or entry.name for entry in entries() if entry.path}
    files = {file: whose for path, whose in made.items() for file in weight_files(path)}
    assert len(files) == len(made)
    assert sum(file.stat().st_size for file in files) < 106e6
    assert sum(file.stat().st_size for file, whose in files.items() if whose == "house") < 53e6
    every = list((ASSETS / "models").rglob("*.safetensors"))
    house = [file for file in every if not file.parent.name.endswith("-smollm2")]
    assert sum(file.stat().st_size for file in house) < 62e6
    assert sum(file.stat().st_size for file in every) < 110e6


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_recorded_run_passes_check_and_matches_its_recipe(recipe):
    trace = recorded_run(recipe.name)
    check(trace)
    head = trace.header
    assert head.prompt == recipe.text
    wanted = with_defaults(recipe.drafter, recipe.settings)
    drafter = find(recipe.drafter, "drafter")
    assert head.drafter.family == (drafter.family or drafter.name)
    assert trace.baseline is not None
    assert head.target.name == ("smollm2" if is_served(recipe.target) else recipe.target)
    assert head.machine.startswith("vLLM ") is is_served(recipe.target)
    layers = 12 if recipe.target == "house" else 30
    assert Settings.from_json(head.settings) == Settings.from_json(wanted).at_depth(layers)
    place = None if is_served(recipe.target) else weights_path(find(recipe.target, "target"))
    if place is not None and (recipe.target == "house" or is_gguf(place)):
        assert head.target.hash == fingerprint(weight_files(place)), "recorded by older weights"
    own = fingerprint(weight_files(drafter.path)) if drafter.path else None
    drafted_by = head.target.hash if recipe.drafter == "oracle" else own
    assert head.drafter.hash == drafted_by, "recorded by older weights"


@pytest.mark.slow
def test_recorded_runs_cover_all_important_cases():
    traces = [recorded_run(recipe.name) for recipe in recipes()]
    rounds = [played for trace in traces for played in trace.rounds[1:]]
    kinds = {played.drew.kind for played in rounds if played.drew}
    assert kinds == {"recovered", "bonus", "plain"}
    lookups = [r for t in traces if t.header.drafter.family == "ngram" for r in t.rounds[1:]]
    assert any(not r.proposed.guesses for r in lookups), "prompt lookup without a match"
    assert any(r.proposed.guesses and not r.judged[0].accepted for r in lookups), "a rejected copy"
    assert any(r.judged and r.judged[-1].accepted for r in lookups), "every copy accepted"


STARTS = [recipe for recipe in recipes() if recipe.start]


def rejection(trace):
    """Return a run's first rejection and its round."""
    judged = ((r, j) for r in trace.rounds for j in r.judged)
    return next((r, j) for r, j in judged if not j.accepted)


def letters(word):
    """Return whether a token consists of letters, optionally after a space."""
    return re.fullmatch(r"␣?[A-Za-z]+", flat(word)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("recipe", STARTS, ids=lambda recipe: recipe.name)
def test_starter_run_begins_with_a_word_and_its_first_rejection_has_visible_numbers(recipe):
    """The inspector shows bars of visible width, a moderate probability, and words."""
    trace = recorded_run(recipe.name)
    first = Scene.of(trace, 0)
    assert letters(first.word(first.round.drew.token))
    played, judged = rejection(trace)
    assert judged.rows.residual >= 0.1
    shots = {shot["step"]["id"]: shot for shot in frames(Scene.of(trace, played.number))}
    panel, drawn = shots[f"judge-{judged.node}"]["panel"], shots["draw"]
    assert 0.2 <= panel["coin"]["threshold"] <= 0.8
    assert panel["coin"]["u"] - panel["coin"]["threshold"] >= 0.02, "u is at the threshold"
    if "q" not in panel:
        assert 0.2 <= panel["p"] <= 0.8
    else:
        assert min(panel["p"], panel["q"]) >= 0.05
    assert drawn["caption"]["is"] == "recovered"
    assert next(s["m"] for s in drawn["panel"]["draw"]["shares"] if s.get("hit")) >= 0.05
    assert letters(panel["w"])
    assert letters(drawn["tree"]["slot"]["w"])


def test_starter_runs_are_a_short_chain_that_is_soon_rejected_and_a_tree():
    assert [recipe.name for recipe in recipes()[:5]] == [recipe.name for recipe in STARTS]
    assert len({recipe.drafter for recipe in STARTS}) == 4, "one prompt as chain and as tree"
    played, _ = rejection(recorded_run(STARTS[0].name))
    parents = [guess.parent for guess in played.proposed.guesses]
    assert parents == list(range(len(parents)))
    assert len(parents) in (3, 4, 5)
    assert played.number in (1, 2)
    (recipe,) = (one for one in STARTS if "siblings" in one.settings)
    played, judged = rejection(recorded_run(recipe.name))
    parent = played.proposed.guesses[judged.node - 1].parent
    tried = [j for j in played.judged if played.proposed.guesses[j.node - 1].parent == parent]
    assert [j.accepted for j in tried] == [False, True]  # a second sibling


def test_recipes_of_recorded_runs_cover_every_domain_and_drafter():
    rows = json.loads((FOLDER / "recipes.json").read_text())
    assert len({row["name"] for row in rows}) == len(rows) >= 8
    assert sorted(p.stem for p in FOLDER.glob("*.jsonl")) == sorted(r.name for r in recipes())
    listed = [recipe.prompt for recipe in recipes() if not isinstance(recipe.prompt, str)]
    assert {domain for domain, _ in listed} == set(prompts())
    assert {recipe.drafter for recipe in recipes()} >= set(DRAFTERS)
