"""Mixture of Attentions: formulas, memory, whole runs, loss and learning."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import torch
from driven import GONE, write_head
from moa_made import GREEDY, WARM, learnt, moa_turns, plain_logits, wild

from specviz.drafters.common.training import EVERY, read_target_outputs
from specviz.drafters.moa import head as training
from specviz.drafters.moa.head import MoaConfig, MoaHead
from specviz.verification import Drawn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("settings", [GREEDY, WARM])
def test_logits_of_each_node_equal_the_formula_of_the_paper_for_its_path(settings):
    """Queries see their ancestors and the whole text, memory up to the newest token's predictor."""
    target, head, seen, depths = headed.target(), wild(headed.target()), 0, set()
    for text, turn in list(moa_turns(replace(settings, max_new_tokens=7), head))[:3]:
        tree = turn.proposal.tree
        assert turn.proposal.drawn is Drawn.POINT_MASS
        assert not turn.proposal.q
        assert len(tree) - 1 <= settings.budget
        for node, kids in enumerate(tree.children):
            if not kids:
                continue
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            soft = plain_logits(head, target, text, path).softmax(-1)
            tokens = [tree.tokens[kid] for kid in kids]
            assert tokens == soft.topk(len(kids)).indices.tolist()
            for kid, token in zip(kids, tokens, strict=True):
                assert turn.proposal.score[kid] == pytest.approx(soft[token].item(), abs=1e-4)
            seen += 1
            depths.add(tree.depths[node])
    assert seen > 6
    assert max(depths) > 1


def test_drafting_adds_no_rows_to_the_memory_of_the_moa_head(monkeypatch):
    head, asked, memory = learnt(), [], MoaHead.memory
    monkeypatch.setattr(
        MoaHead, "memory", lambda head, rows: asked.append(rows.shape[:3]) or memory(head, rows)
    )
    seen = list(moa_turns(GREEDY, head))
    assert len(asked) == len(seen)
    for text, turn in seen:
        assert turn.proposal.evidence[0]["memory"] == len(text) - 1
        assert turn.proposal.evidence[0]["layers"] == headed.LAYERS
        deepest = max(turn.proposal.tree.depths)
        assert deepest <= turn.proposal.evidence[0]["passes"] <= GREEDY.gamma
    fresh = [turn.verdict for _, turn in seen]
    new = [rows for _, rows, layers in asked if layers == headed.LAYERS]
    assert new == [len(seen[0][0]) - 1, *(len(v.path) + 1 for v in fresh[:-1])]


# Learning


def test_loss_is_the_weighted_mean_over_depths():
    head, found = wild(headed.target()), headed.outputs(1)
    total = weights = 0.0
    for depth, output in enumerate(training.unroll(head, found, 3), start=1):
        off = (output - found.final[:, depth:]).abs()
        feature = torch.where(off < 1, off.square() / 2, off - 0.5).mean()
        rows = output.shape[1]
        law = found.logits[:, depth : depth + rows].softmax(-1)
        missed = -(law * found.head(output).log_softmax(-1)).sum(-1).mean()
        part = training.FEATURE_WEIGHT * feature + training.DISTRIBUTION_WEIGHT * missed
        total += 0.8 ** (depth - 1) * part.item()
        weights += 0.8 ** (depth - 1)
    assert training.loss(head, found, steps=3).item() == pytest.approx(total / weights, rel=1e-4)


def test_training_works_under_autocast():
    head = MoaHead(MoaConfig.like(headed.target())).train()
    with torch.autocast("cpu", torch.bfloat16):
        found = read_target_outputs(headed.target().model, headed.windows(2), (EVERY,))
        loss = training.loss(head, found)
    loss.backward()
    plainly_ = training.loss(head, headed.outputs(0)).item()
    assert loss.isfinite()
    assert loss.item() == pytest.approx(plainly_, rel=0.2)


# Files


def test_missing_attention_head_size_follows_from_the_width(tmp_path):
    head = wild(headed.target(), layer_self_attention_head_dim=0)
    assert head.layer_self_attention.self_attn.q_proj.weight.shape == (48, 48)
    write_head(tmp_path, head, {"layer_self_attention_head_dim": GONE, "made_for": GONE})
    back = MoaHead.load(tmp_path, headed.target())
    assert torch.equal(back.Ekv2E.bias, head.Ekv2E.bias.bfloat16().float())
