"""DeepSeek's sequential modules and parallel layers: alignment, caches, layouts."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import tiny
import torch
from once import once

from specviz.drafters.common.layers import causal_mask, own_rows_mask
from specviz.drafters.mtp.head import MTPModules
from specviz.drafters.mtp_parallel import ParallelConfig, SelfAttention
from specviz.engine.loop import rounds
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn
from specviz.verification.distributions import draw, logits_to_probs

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=30)
WARM = Settings(Sampling(1.1, top_k=20), gamma=4, max_new_tokens=30)
TEXT = "The cat saw the"


def ids():
    return headed.target().encode(TEXT, 9)


def final_states():
    """Return the target's final states (n, h) of TEXT."""
    return headed.read_target_outputs(headed.target().model, torch.tensor([ids()])).final[0]


@torch.inference_mode()
def by_hand(steps):
    """Return the logits of each step by the paper's formula, over whole texts without a cache.

    One module is applied repeatedly, to (state of i, token i + 1), then to (own output, guess).
    """
    modules, target = headed.heads("mtp"), headed.target().model
    module, states, words, found = modules.module(1), final_states()[:-1], ids()[1:], []
    for _ in range(steps):
        embedded = target.model.embed_tokens(torch.tensor(words))
        pair = torch.cat([module.enorm(embedded), module.hnorm(states)], dim=-1)
        rows = len(words)
        joined = module.eh_proj(pair)[None]
        out = modules.run(1, joined, torch.arange(rows)[None], causal_mask(rows, 0, joined))
        logits = target.lm_head(module.shared_head.norm(out[0, -1]))
        found.append(logits)
        states = torch.cat([states, out[0, -1:]])
        words.append(int(logits.argmax()))
    return found


def test_drafted_chain_equals_the_formula_step_by_step():
    proposal = headed.start_session("mtp", ids(), GREEDY).propose(ids(), 5, Chance(1, 1))
    logits = by_hand(4)
    assert list(proposal.tree.tokens[1:]) == [int(row.argmax()) for row in logits]
    for node, row in enumerate(logits, 1):
        assert proposal.score[node] == pytest.approx(row.softmax(-1).max().item(), abs=1e-5)
        state = len(ids()) - 2
        assert proposal.evidence[node] == {"module": 1, "state": state, "own": node - 1}


def test_sampled_chain_is_drawn_from_its_own_q():
    chance = Chance(3, 2)
    proposal = headed.start_session("mtp", ids(), WARM).propose(ids(), 5, chance)
    assert proposal.drawn is Drawn.SAMPLED
    assert set(proposal.q) == {0, 1, 2, 3}
    first = logits_to_probs(by_hand(1)[0], WARM.sampling)
    assert torch.allclose(proposal.q[0], first, atol=1e-5)
    for node in range(1, 5):
        assert proposal.draws[node] == draw(proposal.q[node - 1], chance.draft(node))
        assert proposal.tree.tokens[node] == proposal.draws[node].token


@once
def several(many):
    """Return several modules, trained briefly so that some guesses are accepted."""
    config = replace(headed.CONFIGS["mtp"], num_nextn_predict_layers=many)
    return headed.trained("mtp", config, steps=30)


@pytest.mark.parametrize(
    ("many", "settings"),
    [(2, WARM), (3, GREEDY), (3, replace(GREEDY, gamma=1, schedule="learning"))],
)
def test_several_modules_take_turns_and_roll_back(many, settings):
    modules, kept = several(many), set()
    whole = list(ids())
    for turn in rounds(headed.target(), headed.drafter("mtp", modules), list(whole), settings):
        if turn.number:
            end = len(ids()) + settings.max_new_tokens
            depth = max(1, len(turn.proposal.tree) - 1)
            as_deep = replace(settings, gamma=depth, schedule="fixed")
            session = headed.start_session("mtp", whole, as_deep, modules)
            fresh = session.propose(whole, tiny.max_tokens(as_deep, end - len(whole)), turn.chance)
            assert fresh.tree == turn.proposal.tree
            for node, score in turn.proposal.score.items():
                assert fresh.score[node] == pytest.approx(score, abs=1e-5)
            steps = [turn.proposal.evidence[n]["module"] for n in range(1, len(fresh.tree))]
            assert steps == [min(step, many) for step in range(1, 1 + len(steps))]
            kept.add(len(turn.verdict.path))
        whole += turn.tokens
    assert len(kept) > 1


def test_each_module_reads_each_verified_token_once(monkeypatch):
    rows = []
    run = MTPModules.run
    monkeypatch.setattr(
        MTPModules, "run", lambda *given: rows.append(given[2].shape[1]) or run(*given)
    )
    before = 1
    for turn in rounds(headed.target(), headed.drafter("mtp"), ids(), GREEDY):
        if turn.number and len(turn.proposal.tree) > 1:
            assert rows[0] == before
            assert rows[1:] == [1] * (len(turn.proposal.tree) - 2)
            before = 0
        before += len(turn.tokens) if turn.number else len(ids()) - 1
        rows.clear()


@pytest.mark.parametrize("copies", [(True, True), (True, False), (False, True)])
def test_modules_load_with_their_own_embeddings_and_projection(tmp_path, copies):
    plain, model = headed.heads("mtp"), headed.target().model
    sizes = tuple(tiny.VOCABULARY if copy else None for copy in copies)
    made = MTPModules(plain.config, 48, sizes)
    given = plain.state_dict()
    for name in set(made.state_dict()) - set(given):
        given[name] = model.lm_head.weight.clone()
    made.load_state_dict(given)
    made.save(tmp_path)
    loaded = MTPModules.load(tmp_path, headed.target())
    module = loaded.module(1)
    assert (module.embed_tokens is not None, module.shared_head.head is not None) == copies
    proposal = headed.start_session("mtp", ids(), GREEDY, loaded).propose(ids(), 5, Chance(1, 1))
    assert len(proposal.tree) == 5


def test_training_rows_attend_only_to_earlier_text_and_their_own_drafts():
    least = torch.finfo(torch.float32).min
    mask = own_rows_mask(3, 2, torch.zeros(1))[0, 0] == 0
    assert mask.tolist() == [
        [True, False, False, True, False, False, True, False, False],
        [True, True, False, False, True, False, False, True, False],
        [True, True, True, False, False, True, False, False, True],
    ]
    assert causal_mask(2, 1, torch.zeros(1))[0, 0].tolist() == [[0, 0, least], [0, 0, 0]]


def test_rotary_embedding_of_parallel_heads_rotates_neighbouring_pairs():
    """Compare with their formula: pairs as complex numbers, multiplied by e^(i position angle)."""
    attention = SelfAttention(ParallelConfig(n_heads=4), 32)
    rows = torch.randn(1, 4, 5, 8)
    angles = 10_000.0 ** -(torch.arange(0, 8, 2) / 8)
    turn = torch.polar(torch.ones(5, 4), torch.outer(torch.arange(3.0, 8.0), angles))
    pairs = torch.view_as_complex(rows.unflatten(-1, (-1, 2)).contiguous())
    expected = torch.view_as_real(pairs * turn).flatten(-2)
    assert torch.allclose(attention.rotated(rows, torch.arange(3, 8)), expected, atol=1e-6)


def test_parallel_heads_read_the_states_before_the_last_layer():
    """The target's last layer, used as a head, gives the target's predictions."""
    model = headed.target().model
    trunk = headed.outputs(0).states[-2]
    turns = model.model.rotary_emb(trunk, torch.arange(trunk.shape[1])[None])
    mask = causal_mask(trunk.shape[1], 0, trunk)
    last = model.model.layers[-1](trunk, attention_mask=mask, position_embeddings=turns)
    logits = headed.heads("mtp-parallel").logits(last, model.lm_head)
    assert torch.allclose(logits, headed.outputs(0).logits, atol=1e-4)
    assert headed.drafter("mtp-parallel").capture == CaptureSpec(layers=(headed.LAYERS - 1,))
