"""Every honest run passes `check`: all drafters over a grid of settings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product

import families
import pytest
import tiny
import torch

from specviz.catalog import entries, load
from specviz.catalog.entry import with_defaults
from specviz.drafters.contract.harness import networks, run_trace
from specviz.drafters.ngram import NGram
from specviz.drafters.suffix import Suffix
from specviz.engine.decode import run
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.rule_specs import RULE_SPECS
from specviz.verification import MismatchedRule

TEMPERATURES = (0.0, 0.3, 0.7, 1.0, 1.5)
CUTS = ({}, {"top_k": 5}, {"top_p": 0.9}, {"top_k": 5, "top_p": 0.9})
FEW = [Sampling(0.0), Sampling(1.0), Sampling(1.5), Sampling(0.7, **CUTS[3])]
ALL = [Sampling(t, **cuts) for t, cuts in product(TEMPERATURES, CUTS)]
NEW = 12


def refusal(target, drafter, prompt, settings):
    """Return what `check` says against a run after it was written and read again; or nothing."""
    settings = replace(settings, max_new_tokens=NEW)
    trace = run_trace(target, drafter, prompt, settings, baseline=False)
    try:
        check(Trace.parse(trace.lines()))
    except ValueError as error:
        return f"{settings.sampling}, {settings.rule}, γ {settings.gamma}: {error}"
    return None


def refused(case, grid):
    """Return the refusals of a case's runs with these settings."""
    target = case.target()
    drafter = case.drafter(target)
    found = []
    for settings in grid:
        with suppress(MismatchedRule):
            found.append(refusal(target, drafter, case.prompts[0], settings))
    return [problem for problem in found if problem]


@pytest.mark.slow
@pytest.mark.parametrize("name", families.CASES)
def test_check_accepts_honest_runs_of_every_drafter_at_every_temperature(name):
    """Temperature 0 is in the contract, and 1 in the next test."""
    case = families.CASES[name]
    shape = case.shapes[0]
    assert refused(case, [replace(shape, sampling=sampling) for sampling in FEW[2:]]) == []


HOUSE = [e.name for e in entries() if e.kind == "drafter" and e.made_for in ("house", None)]


@pytest.mark.slow
def test_check_accepts_honest_runs_of_the_shipped_models_at_temperature_1():
    """Their vocabulary is large enough for a score in float32 to differ from q in float64."""
    found = {}
    for name in HOUSE:
        settings = Settings.from_json(with_defaults(name, {"sampling": {"temperature": 1.0}}))
        found[name] = refusal(*load("house", name, "cpu"), "Once upon a time", settings)
    assert {name: problem for name, problem in found.items() if problem} == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", families.CASES)
def test_check_accepts_honest_runs_of_every_drafter_over_the_whole_grid(name):
    """Temperature, top-k and top-p for every shape, each γ, and each rule that fits."""
    case = families.CASES[name]
    grid = [replace(shape, sampling=sampling) for shape in case.shapes for sampling in ALL]
    grid += [
        replace(case.shapes[0], gamma=gamma, sampling=sampling)
        for gamma, sampling in product((1, 4, 16), ALL)
    ]
    grid += [
        replace(case.shapes[0], rule=rule, sampling=sampling)
        for rule, sampling in product(RULE_SPECS, FEW)
    ]
    assert refused(case, grid) == []


@pytest.mark.slow
def test_check_accepts_honest_runs_in_half_precision():
    model = tiny.llama().to(torch.bfloat16)
    target, drafter = tiny.target(model), tiny.draft(tiny.blurred(model))
    for sampling in FEW:
        settings = Settings(gamma=4, siblings=[2, 2], sampling=sampling)
        assert refusal(target, drafter, tiny.PROMPT, settings) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", families.KNOWING_NOTHING)
def test_check_accepts_honest_runs_of_every_untrained_drafter_in_bfloat16(name):
    """Half precision rounds logits, so scores that are computed in another way would differ."""
    target = families.target_of(name)
    target.model.to(torch.bfloat16)
    drafter = families.KNOWING_NOTHING[name](target)
    for network in networks(drafter, target):
        network.to(torch.bfloat16)
    settings = Settings(gamma=4, exit_layer=1, sampling=Sampling(0.7))
    assert refusal(target, drafter, tiny.PROMPT, settings) is None


@pytest.mark.slow
@pytest.mark.parametrize("chat", ["chat", "raw"])
def test_check_accepts_honest_runs_of_a_chat_and_of_raw_text(chat):
    target = tiny.target(words=tiny.chat_tokenizer())
    for drafter, sampling in product((tiny.draft(), NGram(), Suffix()), FEW):
        settings = Settings(gamma=4, sampling=sampling, chat=chat, max_new_tokens=NEW)
        header, *events = run(target, drafter, "the cat sat on the cat", settings)
        check(Trace.parse(Trace(header, events).lines()))


def excluding(count):
    """Return a model whose first tokens have a logit of minus infinity."""
    model = tiny.llama()
    head = torch.nn.Linear(*reversed(model.lm_head.weight.shape)).requires_grad_(False)
    head.weight.copy_(model.lm_head.weight)
    head.bias.zero_()[:count] = -torch.inf
    model.lm_head = head
    return model


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_check_accepts_tokens_that_the_target_excludes_and_counts_them(temperature):
    settings = Settings(gamma=3, sampling=Sampling(temperature), max_new_tokens=NEW)
    trace = run_trace(tiny.target(excluding(140)), tiny.draft(), tiny.PROMPT, settings)
    check(trace)
    assert {tuple(played.scored.excluded[:1]) for played in trace.rounds} == {(140,)}
    for played in trace.rounds:
        played.scored.excluded[:] = [0] * len(played.scored.excluded)
    with pytest.raises(ValueError, match="p of"):
        check(trace)
