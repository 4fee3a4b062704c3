"""Heads that guess several tokens ahead: what must hold for every such family.

Families: Medusa, blockwise, L-MTP, parallel layers, DeepSeek's module.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import headed
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from test_engine import generated, joint, traced

from specviz.drafters.mtp.drafter import MTPSession
from specviz.engine.loop import plain, rounds
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.passes import States
from specviz.settings.chance import FINAL, Chance, key
from specviz.settings.settings import Sampling, Settings, guesses
from specviz.trace.check import check
from specviz.trace.metrics import difference, summary, token_ids
from specviz.verification import Drawn
from specviz.verification.distributions import BadScores
from specviz.verification.exact import g_test

NAMES = list(headed.CONFIGS)
GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=4, max_new_tokens=24)
TREE = [3, 2]


def turns(name, settings, prompt=headed.PROMPTS[0], target=None):
    """The rounds after the prefill, each with the text before it."""
    target = target or headed.target()
    text = target.encode(prompt, settings.max_new_tokens)
    for turn in rounds(target, headed.drafter(name), list(text), settings):
        if turn.number:
            yield list(text), turn
        text += turn.tokens


def kept_share(name, drafter):
    """How many of the tokens judged were kept, over a few greedy runs."""
    target, kept, judged = headed.target(), 0, 0
    for prompt in headed.PROMPTS:
        ids = target.encode(prompt, 40)
        for turn in rounds(target, drafter, ids, replace(GREEDY, gamma=3)):
            kept += len(turn.verdict.path)
            judged += len(turn.verdict.decisions)
    return kept / judged


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("siblings", "schedule"), [([], "fixed"), (TREE, "learning")])
def test_greedy_is_generate_token_for_token(name, siblings, schedule):
    settings = replace(GREEDY, siblings=siblings, schedule=schedule)
    target = headed.target()
    for prompt in headed.PROMPTS:
        trace = traced(target, headed.drafter(name), prompt, settings)
        assert token_ids(trace) == generated(target, prompt, settings)
        assert difference(trace) is None
        check(trace)


@pytest.mark.parametrize("name", NAMES)
def test_trained_heads_save_passes(name):
    trace = traced(headed.target(), headed.drafter(name), "The cat", GREEDY, baseline=False)
    assert summary(trace)["tokens_per_pass"] > 1.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("siblings", [[], TREE])
def test_every_sampled_trace_checks_and_replays(name, siblings):
    for seed in range(2):
        settings = replace(WARM, seed=seed, siblings=siblings)
        first, again = (
            traced(headed.target(), headed.drafter(name), "The cat", settings, baseline=False)
            for _ in range(2)
        )
        check(first)
        assert token_ids(first) == token_ids(again)


@pytest.mark.parametrize("name", NAMES)
def test_the_tokens_of_real_runs_follow_the_target(name):
    """End to end, two tokens after one laid one: 400 seeds; false alarm 1 in 1,000."""
    sampling = Sampling(1.6, top_k=4, top_p=0.98)
    target, drafter = headed.target(), headed.drafter(name)
    coins = {key(0, FINAL, 0): 0.1}
    settings = Settings(sampling, max_new_tokens=4, gamma=2, siblings=[4, 2], coins=coins)
    ids = target.encode("The cat saw", 4)
    counts: Counter[tuple[int, ...]] = Counter()
    first, kept = 0, 0
    for seed in range(400):
        text: list[int] = []
        for turn in rounds(target, drafter, ids, replace(settings, seed=seed)):
            text += turn.tokens
            kept += len(turn.verdict.path)
            if len(text) > 2:
                break
        first = text[0]
        counts[tuple(text[1:3])] += 1
    laws = joint(target, [*ids, first], sampling, depth=2)
    cells = sorted(laws)
    assert set(counts) <= set(cells)
    assert 20 < kept < 800
    assert g_test([counts[c] for c in cells], [laws[c] for c in cells]).p_value > 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", [replace(GREEDY, siblings=TREE), replace(WARM, gamma=3)])
def test_a_session_says_what_one_that_reads_the_text_anew_says(name, settings):
    """Nothing of a rejected guess stays behind, and nothing of a kept one is missing."""
    lengths = set()
    for text, turn in turns(name, settings):
        end = len(headed.target().encode(headed.PROMPTS[0], 0)) + settings.max_new_tokens
        fresh = headed.begun(name, text, settings).propose(
            text, tiny.room(settings, end - len(text)), turn.chance
        )
        assert fresh.tree == turn.proposal.tree
        assert fresh.evidence == turn.proposal.evidence
        for node, q in turn.proposal.q.items():
            assert torch.allclose(q, fresh.q[node], atol=1e-5)
        for node, score in turn.proposal.score.items():
            assert fresh.score[node] == pytest.approx(score, abs=1e-5)
        lengths.add(len(turn.verdict.path))
    assert len(lengths) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_session_guesses_what_its_head_was_trained_to_say_there(name):
    """The newest token stands at n, its predictor at n - 1: row n - 1 of the loss's logits.

    DeepSeek's module has read its own guesses, so it is compared as far as the text took them.
    """
    settings = replace(GREEDY, gamma=4)
    seen = list(turns(name, settings))
    whole = [*seen[-1][0], *seen[-1][1].tokens]
    frozen = headed.freeze(headed.target().model, torch.tensor([whole]))
    said = headed.LOSSES[name].guesses(headed.heads(name), frozen)
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
    """A drafter whose sessions get every state one row late: the offset wrong by one."""

    def __init__(self, inner):
        self.inner = inner
        self.name, self.card, self.made_for = inner.name, inner.card, inner.made_for
        self.taps = inner.taps

    def begin(self, target, settings):
        session = self.inner.begin(target, settings)
        commit, last = session.commit, []

        def late(tokens, states, riders=None):
            rows = list(range(len(tokens)))
            before = last[-1] if last else states.take([0])
            last.append(states.take(rows[-1:]))
            commit(tokens, joined(before, states.take(rows[:-1])))

        session.commit = late
        return session


def joined(one, other):
    """Rows of one and then of the other."""
    final = None if one.final is None else torch.cat([one.final, other.final])
    return States({k: torch.cat([v, other.layers[k]]) for k, v in one.layers.items()}, final)


@pytest.mark.parametrize("name", NAMES)
def test_acceptance_collapses_when_states_are_late_by_one(name):
    """DeepSeek's module knows the newest token besides, so it loses less."""
    right = kept_share(name, headed.drafter(name))
    late = kept_share(name, Late(headed.drafter(name)))
    assert right > 0.5
    assert late < (right - 0.05 if name == "mtp" else right / 2)


def test_acceptance_of_a_module_collapses_when_tokens_are_late_by_one(monkeypatch):
    """Row i must pair the state of i with the token i + 1, not with its own."""
    right = kept_share("mtp", headed.drafter("mtp"))
    step = MTPSession._step

    def late(session, number, hidden, text, newest):
        return step(session, number, hidden, [text[0], *text[:-1]], newest)

    monkeypatch.setattr(MTPSession, "_step", late)
    assert kept_share("mtp", headed.drafter("mtp")) < right / 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_run_stops_exactly_at_its_limit(name, limit):
    settings = replace(WARM, max_new_tokens=limit, siblings=TREE)
    trace = traced(headed.target(), headed.drafter(name), "The cat", settings)
    assert len(token_ids(trace)) == limit
    assert trace.finished.reason == "limit"
    check(trace)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("room", "depth"), [(1, 0), (2, 1), (3, 2), (99, 3)])
def test_a_tree_grows_no_deeper_than_there_is_room(name, room, depth):
    text = headed.target().encode("The cat saw the", 9)
    settings = replace(GREEDY, gamma=3, siblings=TREE)
    room = tiny.room(settings, room)
    proposal = headed.begun(name, text, settings).propose(text, room, Chance(1, 1))
    assert max(proposal.tree.depths) == depth
    chain = name in ("mtp", "blockwise")
    assert len(proposal.tree) - 1 == (depth if chain else guesses(TREE, depth))
    proposal.check(proposal.drawn, room, ())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_follows_an_end_of_text(name):
    text = headed.target().encode("The cat saw the", 9)
    settings = replace(GREEDY, gamma=3, siblings=TREE)
    whole = headed.begun(name, text, settings).propose(text, 4, Chance(1, 1)).tree
    target = headed.again()
    target.eos = (whole.tokens[1],)
    proposal = headed.begun(name, text, settings, of=target).propose(text, 4, Chance(1, 1))
    proposal.check(proposal.drawn, 4, target.eos)
    assert proposal.tree.tokens[1] == whole.tokens[1]
    assert not proposal.tree.children[1]
    assert set(proposal.evidence) == set(range(len(proposal.tree)))


@pytest.mark.parametrize("name", NAMES)
def test_a_drafted_end_of_text_ends_it_exactly_there(name):
    target = headed.again()
    ids = target.encode("The cat", 24)
    text = [step.token for step in plain(target, ids, GREEDY)]
    ends = next(i for i in range(6, 24) if text[i] not in text[:i])
    target.eos = (text[ends],)
    trace = traced(target, headed.drafter(name), "The cat", GREEDY)
    assert token_ids(trace) == text[: ends + 1]
    assert trace.finished.reason == "eos"
    check(trace)


@pytest.mark.parametrize("name", NAMES)
def test_every_guess_says_where_it_comes_from(name):
    for text, turn in turns(name, GREEDY):
        evidence = turn.proposal.evidence
        assert set(evidence) == set(range(len(turn.proposal.tree)))
        assert set(turn.proposal.score) == set(range(1, len(turn.proposal.tree)))
        for node in range(1, len(turn.proposal.tree)):
            assert evidence[node]["state"] in (len(text) - 2, len(text) - 3)


@pytest.mark.parametrize("name", NAMES)
def test_only_a_module_that_samples_has_a_q(name):
    settings = replace(WARM, siblings=TREE)
    text = headed.target().encode("The cat", 9)
    session = headed.begun(name, text, settings)
    sampled = name == "mtp"
    assert session.drawn is (Drawn.SAMPLED if sampled else Drawn.POINT_MASS)
    assert bool(session.propose(text, 5, Chance(1, 1)).q) is sampled
    for fixed in (replace(settings, candidates="greedy"), replace(settings, sampling=Sampling(0))):
        session = headed.begun(name, text, fixed)
        assert session.drawn is Drawn.POINT_MASS
        assert not session.propose(text, 5, Chance(1, 1)).q


@pytest.mark.parametrize("name", NAMES)
def test_a_head_is_saved_and_loaded_as_it_was(name, tmp_path):
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
def test_tensors_that_do_not_fit_are_named(name, tmp_path):
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
def test_heads_that_give_nan_are_reported_in_a_sentence(name):
    torch.manual_seed(1)
    head = headed.HEADS[name].new(headed.CONFIGS[name], headed.target().model)
    head.requires_grad_(False)
    for weight in head.parameters():
        weight.fill_(float("nan"))
    with pytest.raises(BadScores, match=f"tiny-{name} gave scores that are not numbers"):
        list(rounds(headed.target(), headed.drafter(name, head), [5, 6, 7], GREEDY))


@pytest.mark.parametrize("name", NAMES)
def test_an_untrained_head_has_a_loss_with_gradients_that_stay_out_of_the_target(name):
    torch.manual_seed(1)
    head = headed.HEADS[name].new(headed.CONFIGS[name], headed.target().model)
    headed.LOSSES[name].loss(head, headed.frozen(0)).backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in head.parameters())
    assert all(p.grad is not None for p in head.parameters())
    assert all(p.grad is None for p in headed.target().model.parameters())
