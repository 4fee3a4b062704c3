"""Guarantees of all families of heads that guess several tokens ahead.

Families: Medusa, blockwise, L-MTP, parallel layers, DeepSeek's module.
"""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from test_engine import traced

from specviz.drafters.mtp import MTPSession
from specviz.engine.loop import rounds
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.passes import States
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings, tree_size
from specviz.trace.metrics import summary
from specviz.verification import Drawn

NAMES = list(headed.CONFIGS)
GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=4, max_new_tokens=24)
TREE = [3, 2]


def turns(name, settings, prompt=headed.PROMPTS[0], target=None):
    """Return the rounds after the prefill, each with the text before it."""
    target = target or headed.target()
    text = target.encode(prompt, settings.max_new_tokens)
    for turn in rounds(target, headed.drafter(name), list(text), settings):
        if turn.number:
            yield list(text), turn
        text += turn.tokens


def kept_share(name, drafter):
    """Return the share of judged tokens that were accepted in a few greedy runs."""
    target, kept, judged = headed.target(), 0, 0
    for prompt in headed.PROMPTS:
        ids = target.encode(prompt, 40)
        for turn in rounds(target, drafter, ids, replace(GREEDY, gamma=3)):
            kept += len(turn.verdict.path)
            judged += len(turn.verdict.decisions)
    return kept / judged


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_trained_heads_save_target_passes(name):
    trace = traced(headed.target(), headed.drafter(name), "The cat", GREEDY, baseline=False)
    assert summary(trace)["tokens_per_pass"] > 1.5


@pytest.mark.parametrize("name", NAMES)
def test_guesses_of_a_session_equal_the_predictions_in_training(name):
    """The newest token is at n, its predictor at n - 1: row n - 1 of the loss's logits.

    DeepSeek's module reads its own guesses, so it is compared up to the first rejection.
    """
    settings = replace(GREEDY, gamma=4)
    seen = list(turns(name, settings))
    whole = [*seen[-1][0], *seen[-1][1].tokens]
    outputs = headed.read_target_outputs(headed.target().model, torch.tensor([whole]))
    said = headed.LOSSES[name].guesses(headed.heads(name), outputs)
    compared = 0
    for text, turn in seen:
        row = len(text) - 2
        depth = len(turn.proposal.tree) - 1
        known = depth if name != "mtp" else min(depth, 1 + len(turn.verdict.path))
        for d in range(min(known, len(said))):
            if row < said[d].shape[1]:
                assert turn.proposal.tree.tokens[d + 1] == int(said[d][0, row].argmax())
                compared += 1
    assert compared > 10


class Late:
    """A drafter whose sessions receive every state one row late: an off-by-one error."""

    def __init__(self, inner):
        self.inner = inner
        self.name, self.card, self.made_for = inner.name, inner.card, inner.made_for
        self.capture = inner.capture

    def begin(self, target, settings):
        session = self.inner.begin(target, settings)
        commit, last = session.commit, []

        def late(tokens, states, extra_rows=None):
            rows = list(range(len(tokens)))
            before = last[-1] if last else states.take([0])
            last.append(states.take(rows[-1:]))
            commit(tokens, joined(before, states.take(rows[:-1])))

        session.commit = late
        return session


def joined(one, other):
    """Concatenate two sets of rows."""
    final = None if one.final is None else torch.cat([one.final, other.final])
    return States({k: torch.cat([v, other.layers[k]]) for k, v in one.layers.items()}, final)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_acceptance_collapses_if_hidden_states_are_shifted_by_one(name):
    """DeepSeek's module also reads the newest token, so it loses less."""
    right = kept_share(name, headed.drafter(name))
    late = kept_share(name, Late(headed.drafter(name)))
    assert right > 0.5
    assert late < (right - 0.05 if name == "mtp" else right / 2)


@pytest.mark.slow
def test_acceptance_of_mtp_collapses_if_tokens_are_shifted_by_one(monkeypatch):
    """Row i must pair the state of i with token i + 1, not with token i."""
    right = kept_share("mtp", headed.drafter("mtp"))
    planned, step, text = MTPSession.plan_level, MTPSession._step, []

    def heard(session, context, *given):
        text[:] = context
        return planned(session, context, *given)

    def late(session, number, rows, tokens, past):
        known = torch.cat([torch.tensor(text), *session._guesses[1:]])
        first = past + min(number, session.count) - 1
        return step(session, number, rows, known[None, first : first + tokens.shape[1]], past)

    monkeypatch.setattr(MTPSession, "plan_level", heard)
    monkeypatch.setattr(MTPSession, "_step", late)
    assert kept_share("mtp", headed.drafter("mtp")) < right / 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("room", "depth"), [(1, 0), (2, 1), (3, 2), (99, 3)])
def test_draft_tree_is_no_deeper_than_the_token_budget(name, room, depth):
    text = headed.target().encode("The cat saw the", 9)
    settings = replace(GREEDY, gamma=3, siblings=TREE)
    room = tiny.max_tokens(settings, room)
    proposal = headed.start_session(name, text, settings).propose(text, room, Chance(1, 1))
    assert max(proposal.tree.depths) == depth
    chain = name in ("mtp", "blockwise")
    assert len(proposal.tree) - 1 == (depth if chain else tree_size(TREE, depth))
    proposal.check(proposal.drawn, room, ())


@pytest.mark.parametrize("name", NAMES)
def test_every_guess_has_evidence(name):
    for text, turn in turns(name, GREEDY):
        evidence = turn.proposal.evidence
        assert set(evidence) == set(range(len(turn.proposal.tree)))
        assert set(turn.proposal.score) == set(range(1, len(turn.proposal.tree)))
        for node in range(1, len(turn.proposal.tree)):
            assert evidence[node]["state"] in (len(text) - 2, len(text) - 3)


@pytest.mark.parametrize("name", NAMES)
def test_only_heads_that_sample_have_q(name):
    settings = replace(WARM, siblings=TREE)
    text = headed.target().encode("The cat", 9)
    session = headed.start_session(name, text, settings)
    sampled = name == "mtp"
    assert session.drawn is (Drawn.SAMPLED if sampled else Drawn.POINT_MASS)
    assert bool(session.propose(text, 5, Chance(1, 1)).q) is sampled
    for fixed in (replace(settings, candidates="greedy"), replace(settings, sampling=Sampling(0))):
        session = headed.start_session(name, text, fixed)
        assert session.drawn is Drawn.POINT_MASS
        assert not session.propose(text, 5, Chance(1, 1)).q


@pytest.mark.parametrize("name", NAMES)
def test_head_round_trips_through_its_folder(name, tmp_path):
    head = headed.heads(name)
    head.save(tmp_path / "head")
    loaded = headed.HEADS[name].load(tmp_path / "head", headed.target())
    assert loaded.config == head.config
    assert headed.drafter(name, loaded).made_for == headed.HASH
    old, new = head.state_dict(), loaded.state_dict()
    assert list(old) == list(new)
    for tensor, other in zip(old.values(), new.values(), strict=True):
        assert torch.equal(tensor.bfloat16().float(), other)
    assert not any(p.requires_grad for p in loaded.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_error_names_the_tensor_that_does_not_fit(name, tmp_path):
    headed.heads(name).save(tmp_path)
    file = tmp_path / "model.safetensors"
    whole = load_file(file)
    first = min(whole)
    damaged = [
        ({k: v for k, v in whole.items() if k != first}, first),
        ({**whole, "stranger.weight": torch.zeros(2)}, "stranger.weight"),
        ({**whole, first: torch.zeros(3, 5)}, first),
    ]
    for tensors, named in damaged:
        save_file(tensors, file)
        with pytest.raises(Unsuitable, match=named.replace(".", r"\.")):
            headed.HEADS[name].load(tmp_path, headed.target())
    file.unlink()
    with pytest.raises(NotAvailable):
        headed.HEADS[name].load(tmp_path, headed.target())


@pytest.mark.parametrize("name", NAMES)
def test_loss_has_gradients_for_the_head_and_none_for_the_target(name):
    torch.manual_seed(1)
    head = headed.HEADS[name].new(headed.CONFIGS[name], headed.target().model)
    headed.LOSSES[name].loss(head, headed.outputs(0)).backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in head.parameters())
    assert all(p.grad is not None for p in head.parameters())
    assert all(p.grad is None for p in headed.target().model.parameters())
