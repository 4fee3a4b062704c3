"""DFlash: a whole block in one pass, its attention, exact runs, training and configs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import dflash_made
import headed
import pytest
import tiny
import torch
from dflash_made import (
    SIZE,
    drafter,
    generated_by_transformers,
    plain_logits,
    random_head,
    start_session,
    trained,
)
from driven import CHUNKS, check_places, deep_target, driven

from specviz.drafters.dflash import head as training
from specviz.drafters.dflash.config import DFlashConfig, evenly_spaced
from specviz.drafters.dflash.head import DFlashHead
from specviz.engine.loop import rounds
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=40)
ANCHORS = torch.tensor([2, 7, 8, 30])


# The block


def test_block_of_guesses_equals_that_of_the_transformers_network():
    """Compare taps, fusing, norms, positions and both directions, incrementally over a cache."""
    target = deep_target()
    head = random_head(target)
    made = drafter(head)
    assert made.capture.layers == (2, 3) == tuple(k + 1 for k in head.config.target_layer_ids)
    for number, (text, proposal) in enumerate(driven(target, made, replace(GREEDY, gamma=9))):
        soft = plain_logits(head, target, text).softmax(-1)
        assert list(proposal.tree.tokens) == [text[-1], *soft.argmax(-1).tolist()]
        assert proposal.tree.parents == (-1, *range(SIZE - 1))
        for node, token in enumerate(proposal.tree.tokens[1:], start=1):
            assert proposal.score[node] == pytest.approx(soft[node - 1, token].item(), abs=1e-4)
            assert proposal.evidence[node] == {"place": node}
        remark = dict(proposal.evidence[0])
        check_places(remark.pop("places"), soft)
        states = sum(CHUNKS[: number + 1])
        seen = {"passes": 1, "states": states, "masks": SIZE - 1}
        assert remark == {"form": "block", "block": SIZE} | seen
        assert proposal.drawn is Drawn.POINT_MASS
        assert not proposal.q
        assert not proposal.draws


def test_session_predicts_all_nodes_of_a_depth_from_one_block():
    """The guess of depth d is the block's position d, whatever the tokens before it."""
    text = headed.target().encode("The cat saw the", 9)
    session = start_session(text, GREEDY)
    assert session.max_depth == SIZE - 1
    expected = plain_logits(drafter().head, headed.target(), text)
    first = session.logits_after(text, [text[-1]], [-1], [0])
    below = session.logits_after(text, [text[-1], 3, 4], [-1, 0, 0], [1, 2])
    torch.testing.assert_close(first, expected[:1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(below, expected[[1, 1]], atol=1e-4, rtol=1e-4)
    deep = list(range(SIZE + 1))
    last = session.logits_after(text, deep, [-1, *deep[:-1]], [SIZE - 2])
    torch.testing.assert_close(last, expected[-1:], atol=1e-4, rtol=1e-4)
    assert session.logits_after(text, deep, [-1, *deep[:-1]], [SIZE - 1]).isneginf().all()


def test_rounds_equal_those_of_transformers_generation():
    ids = headed.target().encode("The cat", 40)
    prompt, *transformers_network = generated_by_transformers(trained(), headed.target(), ids, 40)
    assert prompt == ids
    settings = replace(GREEDY, gamma=9)
    _, *ours = rounds(headed.target(), drafter(), list(ids), settings)
    assert len(ours) == len(transformers_network) > 10
    left = 39
    for turn, tokens in zip(ours, transformers_network, strict=True):
        assert len(turn.proposal.tree) == min(SIZE, left)
        assert list(turn.proposal.tree.tokens) == tokens[:left]
        left -= len(turn.tokens)


def test_all_positions_of_a_block_are_filled_in_one_pass(monkeypatch):
    text = headed.target().encode("The cat saw the", 20)
    trained()  # passes during training count too
    seen = []
    forward = DFlashHead.forward

    def counted(head, words, positions, mixes):
        seen.append(words)
        return forward(head, words, positions, mixes)

    monkeypatch.setattr(DFlashHead, "forward", counted)
    whole = start_session(text, GREEDY).propose(text, 20, Chance(1, 1))
    assert len(whole.tree) - 1 == SIZE - 1  # a larger γ does not add positions
    for gamma in range(1, SIZE):
        part = start_session(text, GREEDY).propose(text, gamma + 1, Chance(1, 1))
        assert part.tree.tokens == whole.tree.tokens[: gamma + 1]
        assert part.evidence[0] == whole.evidence[0]
    assert len(seen) == SIZE
    embed = headed.target().model.get_input_embeddings()
    block = torch.tensor([text[-1], *[trained().config.mask_token_id] * (SIZE - 1)])
    assert all(torch.equal(words[0], embed(block)) for words in seen)


# Edges


def test_draft_has_the_depth_that_the_token_budget_allows():
    text = headed.target().encode("The cat saw the", 9)
    for room, depth in ((1, 0), (2, 1), (3, 2), (99, SIZE - 1)):
        proposal = start_session(text, GREEDY).propose(text, room, Chance(1, 1))
        assert max(proposal.tree.depths) == depth
        assert len(proposal.evidence) == depth + 1
        assert proposal.evidence[0]["passes"] == (depth > 0)
        assert len(proposal.evidence[0].get("places", [])) == (SIZE - 1 if depth else 0)
        proposal.check(Drawn.POINT_MASS, room, ())


def test_block_is_drafted_after_a_text_of_one_token():
    prompt = [5]
    first, second, *_ = rounds(headed.target(), drafter(), prompt, GREEDY)
    assert len(first.proposal.tree) == 1
    text = [5, *first.tokens]
    soft = plain_logits(trained(), headed.target(), text)
    assert list(second.proposal.tree.tokens[1:]) == soft.argmax(-1)[: GREEDY.gamma].tolist()


# Training


def blocks(head, outputs, anchors=ANCHORS):
    with torch.inference_mode():
        return outputs.head(training.blocks(head, outputs, anchors))


def test_loss_is_the_mean_weighted_by_position():
    head, outputs = random_head(), headed.outputs(2)
    anchors = torch.tensor([3, 36, 39])  # of 40 tokens: five positions, four, one
    said, total, weights = blocks(head, outputs, anchors).log_softmax(-1), 0.0, 0.0
    for text in range(len(said)):
        for i, (anchor, places) in enumerate(zip(anchors.tolist(), (5, 4, 1), strict=True)):
            for k in range(1, places + 1):
                law = outputs.logits[text, anchor + k - 1].softmax(-1)
                weight = math.exp(-(k - 1) / 4)
                total -= weight * (law * said[text, i, k - 1]).sum().item()
                weights += weight
    with torch.inference_mode():
        loss = training.loss(head, outputs, anchors).item()
    assert loss == pytest.approx(total / weights, rel=1e-4)


def test_random_anchors_use_the_torch_generator_and_skip_the_first_token(monkeypatch):
    head, outputs = random_head(), headed.outputs(4)
    monkeypatch.setattr(training, "ANCHORS", 10)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(training.random_anchors(outputs).tolist())
        torch.manual_seed(seed)
        assert training.loss(head, outputs).isfinite()
        assert len(set(drawn[-1])) == 10
        assert drawn[-1] == sorted(drawn[-1])
    assert drawn[0] == drawn[1] != drawn[2]
    monkeypatch.setattr(training, "ANCHORS", 64)
    assert training.random_anchors(outputs).tolist() == list(range(1, 40))


# Configs


def public(**changes):
    """Return a config.json in z-lab's form for the target with three layers."""
    inner = {"mask_token_id": 9, "target_layer_ids": [0, 1]}
    usual = {
        "architectures": ["DFlashDraftModel"], "attention_bias": False, "attention_dropout": 0.0,
        "auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "block_size": 16,
        "dflash_config": inner, "dtype": "bfloat16", "head_dim": 12, "hidden_act": "silu",
        "hidden_size": 48, "intermediate_size": 64, "layer_types": ["full_attention"] * 2,
        "model_type": "qwen3", "num_attention_heads": 4, "num_hidden_layers": 2,
        "num_key_value_heads": 2, "num_target_layers": 3, "rms_norm_eps": 1e-6,
        "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None,
        "use_sliding_window": False, "vocab_size": tiny.VOCABULARY,
    }  # fmt: skip
    return usual | changes


def test_published_configs_load_whether_nested_or_flat():
    wanted = DFlashConfig(
        48, 64, 4, 2, 12, 280, 1e-6, 1e6, num_hidden_layers=2, num_target_layers=3, block_size=16,
        mask_token_id=9, target_layer_ids=(0, 1),
    )  # fmt: skip
    assert DFlashConfig.from_json("x", public()) == wanted
    flat = {"mask_token_id": 9, "target_layer_ids": [0, 1], "dflash_config": None}
    assert DFlashConfig.from_json("x", public(**flat)) == wanted
    inner = {"mask_token_id": 9, "target_layer_ids": [0, 1], "block_size": 16}
    assert DFlashConfig.from_json("x", public(block_size=None, dflash_config=inner)) == wanted
    assert wanted.tap_layers == (1, 2)
    assert dflash_made.config().num_target_layers == 3
    assert DFlashConfig.from_json("x", json.loads(json.dumps(wanted.to_json()))) == wanted


def test_tapped_layers_are_spaced_as_in_the_published_code():
    for layers in range(2, 40):
        taps = evenly_spaced(layers, 3)
        assert taps == tuple(sorted(set(taps)))
        assert 0 <= taps[0] <= taps[-1] < layers - 1
        if layers > 5:
            assert taps == (1, round(1 + (layers - 4) / 2), layers - 3)
