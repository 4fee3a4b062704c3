"""The oracle drafts with the target: q = p, all guesses are accepted, each costs a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
import torch
from test_engine import PROMPTS, traced

from specviz.drafters.oracle import Oracle
from specviz.engine.loop import Decoding, rounds
from specviz.models.passes import CaptureSpec
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import summary, token_ids
from specviz.verification.distributions import logits_to_probs

WARM = Settings(Sampling(1.1), max_new_tokens=32, gamma=4)
SHAPES = [[], [3, 2]]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "siblings"), [(tiny.llama, []), (tiny.gpt2, [3, 2])])
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
def test_every_guess_is_accepted(tiny_target):
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
    for siblings in SHAPES:
        greedy = replace(WARM, sampling=Sampling(0), siblings=siblings)
        trace = traced(tiny_target, Oracle(tiny_target), PROMPTS[0], greedy)
        assert trace.baseline.token_ids == token_ids(trace)
        assert all(judged.accepted for turn in trace.rounds for judged in turn.judged)


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
