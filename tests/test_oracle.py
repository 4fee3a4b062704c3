"""The oracle drafts with the target: q = p, all guesses are accepted, each costs a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
import torch
from test_engine import PROMPTS, generated, traced

from specviz.drafters.oracle import Oracle
from specviz.engine.loop import Decoding, rounds
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import summary, token_ids
from specviz.verification import Drawn
from specviz.verification.distributions import logits_to_probs

WARM = Settings(Sampling(1.1), max_new_tokens=32, gamma=4)
SHAPES = [[], [3, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SHAPES)
@pytest.mark.parametrize("make", [tiny.llama, tiny.gpt2])
def test_q_equals_p_at_every_node(make, siblings):
    target = tiny.target(make())
    text = target.encode(tiny.PROMPT, 32)
    settings = replace(WARM, sampling=Sampling(1.1, top_k=50, top_p=0.9), siblings=siblings)
    many = 0
    for turn in rounds(target, Oracle(target), list(text), settings):
        tree = turn.proposal.tree
        for node, q in turn.proposal.q.items():
            path = [tree.tokens[n] for n in tree.path(node)]
            with torch.inference_mode():
                logits = target.model(torch.tensor([[*text[:-1], *path]])).logits[0, -1]
            assert torch.allclose(q, logits_to_probs(logits, settings.sampling), rtol=0, atol=1e-5)
            assert torch.allclose(q, turn.p[node], rtol=0, atol=1e-5)
            many += 1
        text += turn.tokens
    assert many > 15


@pytest.mark.slow
def test_every_sampled_guess_is_accepted(tiny_target):
    drafted = 0
    for seed in range(4):
        settings = replace(WARM, seed=seed, max_new_tokens=40)
        trace = traced(tiny_target, Oracle(tiny_target), PROMPTS[seed], settings, baseline=False)
        check(trace)
        numbers = summary(trace)
        assert numbers["alpha"] == pytest.approx(1, abs=1e-4)
        assert numbers["acceptance_rate"] == 1
        assert {turn.drew.kind for turn in trace.rounds if turn.drew} <= {"plain", "bonus"}
        drafted += sum(len(turn.proposed.guesses) for turn in trace.rounds[1:])
    assert drafted > 60


@pytest.mark.slow
def test_top_token_guess_is_accepted_with_its_probability(tiny_target):
    settings = replace(WARM, sampling=Sampling(2.0), candidates="greedy", max_new_tokens=64)
    trace = traced(tiny_target, Oracle(tiny_target), tiny.PROMPT, settings, baseline=False)
    check(trace)
    judged = [event for turn in trace.rounds for event in turn.judged]
    assert all(event.alpha == pytest.approx(max(event.rows.p), abs=1e-5) for event in judged)
    assert 0 < summary(trace)["alpha"] < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["fixed", "learning"])
@pytest.mark.parametrize("siblings", SHAPES)
def test_greedy_text_equals_generate_and_all_guesses_are_accepted(tiny_target, schedule, siblings):
    settings = Settings(
        Sampling(0), max_new_tokens=24, gamma=3, schedule=schedule, siblings=siblings
    )
    for prompt in PROMPTS[:5]:
        trace = traced(tiny_target, Oracle(tiny_target), prompt, settings)
        assert token_ids(trace) == generated(tiny_target, prompt, settings)
        assert trace.baseline.token_ids == token_ids(trace)
        assert all(judged.accepted for turn in trace.rounds for judged in turn.judged)
        check(trace)


@pytest.mark.slow
@pytest.mark.parametrize("siblings", SHAPES)
def test_each_guess_costs_a_full_target_pass(tiny_target, siblings, monkeypatch):
    settings = replace(WARM, siblings=siblings)
    ids = tiny_target.encode(tiny.PROMPT, 32)
    decoding = Decoding(tiny_target, Oracle(tiny_target), ids, settings)
    assert decoding.session.reader.model is tiny_target.model
    passes = []
    forward = tiny_target.model.forward
    counted = lambda **given: passes.append(given["input_ids"].shape[1]) or forward(**given)  # noqa: E731
    monkeypatch.setattr(tiny_target.model, "forward", counted)
    for turn in decoding.rounds():
        deep = max(turn.proposal.tree.depths)
        assert len(passes) == deep + 1
        remark = {"form": "upper-bound", "passes": deep}
        assert turn.proposal.evidence == ({0: remark} if deep else {})
        passes.clear()
    assert turn.number > 4


def test_drafting_does_not_change_the_cache_of_the_run(tiny_target):
    decoding = Decoding(tiny_target, Oracle(tiny_target), [3, 5, 7], WARM)
    next(decoding.rounds())
    keys = decoding.cache.cache.layers[0].keys
    proposal = decoding.session.propose(decoding.text, 5, Chance(1, 1))
    assert len(proposal.tree) == 5
    assert decoding.cache.cache.layers[0].keys is keys
    assert decoding.session.reader.cache is not decoding.cache.cache


def test_oracle_respects_the_token_limit_and_end_of_text():
    target = tiny.target()

    def proposed(room=9):
        session = Oracle(target).begin(target.start(CaptureSpec()), WARM)
        return session.propose([3, 5, 7], tiny.max_tokens(WARM, room), Chance(1, 1))

    assert [len(proposed(room).tree) for room in (1, 2, 9)] == [1, 2, 5]
    assert proposed(1).evidence == {}
    whole = proposed().tree.tokens
    target.eos = (whole[2],)
    assert proposed().tree.tokens == whole[:3]


def test_oracle_has_the_size_of_its_target_and_refuses_other_models(tiny_target):
    oracle = Oracle(tiny_target)
    assert (oracle.card.name, oracle.card.family) == ("oracle", "oracle")
    assert oracle.card.parameters == tiny_target.card.parameters > 0
    assert oracle.made_for == tiny_target.card.hash
    hashed = tiny.target()
    hashed.card = replace(hashed.card, hash="ab" * 32)
    assert Oracle(hashed).made_for == "ab" * 32
    with pytest.raises(ValueError, match="made for another model than tiny"):
        oracle.begin(tiny.target(tiny.llama(seed=9)).start(CaptureSpec()), WARM)


def test_session_declares_how_guesses_are_drawn_before_it_proposes(tiny_target):
    for change, drawn in [
        ({}, Drawn.SAMPLED),
        ({"siblings": [2]}, Drawn.WITHOUT_REPLACEMENT),
        ({"candidates": "greedy"}, Drawn.POINT_MASS),
        ({"sampling": Sampling(0)}, Drawn.POINT_MASS),
    ]:
        session = Oracle(tiny_target).begin(
            tiny_target.start(CaptureSpec()), replace(WARM, **change)
        )
        assert session.drawn is session.propose([3, 5], 5, Chance(1, 1)).drawn is drawn
