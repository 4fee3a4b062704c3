"""Mixture of Attentions: formulas, memory, whole runs, loss and learning."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import torch
from driven import GONE, Shifted, accepted_share, write_head
from moa_made import (
    GREEDY,
    TEXT,
    WARM,
    blind,
    drafter,
    learnt,
    moa_turns,
    outputs,
    plain_logits,
    start_session,
    wild,
)
from test_engine import traced

from specviz.drafters.common.training import EVERY, read_target_outputs, same_tops
from specviz.drafters.moa import head as training
from specviz.drafters.moa.head import MoaConfig, MoaHead
from specviz.trace.metrics import token_ids
from specviz.verification import Drawn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("settings", [GREEDY, WARM])
def test_logits_of_each_node_equal_the_formula_of_the_paper_for_its_path(settings):
    """Queries see their ancestors and the whole text, memory up to the newest token's predictor."""
    target, head, seen, depths = headed.target(), wild(headed.target()), 0, set()
    for text, turn in list(moa_turns(replace(settings, max_new_tokens=5), head))[:3]:
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


def test_siblings_do_not_attend_to_each_other():
    head, text = wild(headed.target()), headed.target().encode(TEXT, 9)
    session = start_session(text, GREEDY, head)
    session.reader.context = text
    session.reader.read_text(len(text))
    both = session.reader.read_level([1, 2], [text[-1], 5, 9], [-1, 0, 0])
    deeper = session.reader.read_level([3, 4], [text[-1], 5, 9, 7, 7], [-1, 0, 0, 1, 2])
    for row, (first, second) in enumerate([(5, 7), (9, 7)]):
        other = start_session(text, GREEDY, head)
        other.reader.context = text
        other.reader.read_text(len(text))
        one = other.reader.read_level([1], [text[-1], first], [-1, 0])
        two = other.reader.read_level([2], [text[-1], first, second], [-1, 0, 1])
        torch.testing.assert_close(one[0], both[row], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(two[0], deeper[row], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(deeper[0], deeper[1], atol=1e-2)


def test_drafting_adds_no_rows_to_the_memory_of_the_moa_head(monkeypatch):
    head, asked, memory = learnt()[0], [], MoaHead.memory
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


def test_head_reads_all_target_layers_in_order():
    target, head = headed.target(), wild(headed.target())
    found = outputs(0)
    assert list(found.keys_values) == [1, 2, 3]
    whole = training.guesses(head, found, 1)[0]
    for layer in range(1, headed.LAYERS + 1):
        rows = dict(found.keys_values)
        rows[layer] = (rows[layer][0], rows[layer][1] + 1)
        assert not torch.allclose(
            training.guesses(head, replace(found, keys_values=rows), 1)[0], whole, atol=1e-3
        )
    one, *others = (found.keys_values[k] for k in (3, 2, 1))
    swapped = replace(found, keys_values={1: one, 2: others[0], 3: others[1]})
    assert not torch.allclose(training.guesses(head, swapped, 1)[0], whole, atol=1e-3)
    assert drafter(head).capture.keys_values == tuple(
        range(1, target.model.config.num_hidden_layers + 1)
    )


# Learning


def test_training_lowers_the_loss_and_raises_the_agreement():
    head, losses = learnt()
    assert losses[-1] < 0.2 * losses[0]
    shares = same_tops(training.guesses(head, outputs(40)), outputs(40))
    assert len(shares) == training.STEPS
    assert min(shares) > 0.8
    text = outputs(40).tokens.flatten().bincount().max() / outputs(40).tokens.numel()
    assert text < 0.3  # as often as always guessing the most frequent token


def test_loss_is_the_weighted_mean_over_depths():
    head, found = wild(headed.target()), outputs(1)
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
    plainly_ = training.loss(head, outputs(0)).item()
    assert loss.isfinite()
    assert loss.item() == pytest.approx(plainly_, rel=0.2)


def late_memory(found):
    """Pair every token with the keys and values of the token before."""
    rows = {
        k: tuple(torch.cat([half[:, :, :1], half[:, :, :-1]], dim=2) for half in pair)
        for k, pair in found.keys_values.items()
    }
    return replace(found, keys_values=rows)


def test_head_that_sees_no_tokens_relies_on_correctly_aligned_memory():
    head, losses = learnt(embed=blind)
    found = replace(outputs(40), embed=blind)
    late = late_memory(found)
    assert losses[-1] < 0.6 * losses[0]
    assert training.loss(head, late).item() > 1.5 * training.loss(head, found).item()
    right, wrong = (same_tops(training.guesses(head, f), found)[0] for f in (found, late))
    assert right > 0.5
    assert wrong < right / 2


class Blind:
    """A drafter whose sessions see the same embedding for every token."""

    def __init__(self, inner):
        self.inner, self.name, self.card = inner, inner.name, inner.card
        self.made_for, self.capture = inner.made_for, inner.capture

    def begin(self, target, settings):
        session = self.inner.begin(target, settings)
        session.reader.embed = blind
        return session


def test_head_memory_shifted_by_one_lowers_acceptance_but_text_stays_exact():
    made, target = Blind(drafter(learnt(embed=blind)[0])), headed.target()
    narrow = replace(GREEDY, budget=4, fan_out=1)
    right, late = (
        accepted_share(target, each, narrow, headed.PROMPTS) for each in (made, Shifted(made))
    )
    assert late < right / 2
    trace = traced(target, Shifted(made), TEXT, GREEDY)
    assert token_ids(trace) == trace.baseline.token_ids


# Files


def test_missing_attention_head_size_follows_from_the_width(tmp_path):
    head = wild(headed.target(), layer_self_attention_head_dim=0)
    assert head.layer_self_attention.self_attn.q_proj.weight.shape == (48, 48)
    write_head(tmp_path, head, {"layer_self_attention_head_dim": GONE, "made_for": GONE})
    back = MoaHead.load(tmp_path, headed.target())
    assert torch.equal(back.Ekv2E.bias, head.Ekv2E.bias.bfloat16().float())
