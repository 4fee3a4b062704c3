"""Mixture of Attentions: its loss, its learning, and the cost of a memory shifted by one."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import torch
from moa_made import GREEDY, TEXT, blind, drafter, learnt, outputs, wild
from test_engine import traced

from specviz.drafters.common.training import EVERY, read_target_outputs, same_tops
from specviz.drafters.moa import head as training
from specviz.drafters.moa.head import MoaConfig, MoaHead
from specviz.models.passes import States
from specviz.trace.metrics import summary, token_ids

pytestmark = pytest.mark.slow


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


def test_gradients_reach_the_head_but_not_the_target():
    head = MoaHead(MoaConfig.like(headed.target())).train()
    training.loss(head, outputs(0)).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in head.parameters())
    assert all(p.grad is None for p in headed.target().model.parameters())
    short = read_target_outputs(headed.target().model, headed.windows(0, length=3), (EVERY,))
    assert len(training.guesses(head, short)) == 2
    assert training.loss(head, short).isfinite()


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


class Late:
    """The same drafter, whose sessions receive the target's states one token late."""

    def __init__(self, inner):
        self.inner, self.name, self.card = inner, inner.name, inner.card
        self.made_for, self.capture = inner.made_for, inner.capture

    def begin(self, target, settings):
        session, last = self.inner.begin(target, settings), []
        commit = session.commit

        def late(tokens, states, extra_rows=None):
            before = last[-1] if last else states.take([0])
            last.append(states.take([len(tokens) - 1]))
            rows = states.take(range(len(tokens) - 1)).keys_values
            moved = {
                k: tuple(
                    torch.cat([a, b]) for a, b in zip(before.keys_values[k], rows[k], strict=True)
                )
                for k in rows
            }
            commit(tokens, States(keys_values=moved))

        session.commit = late
        return session


def kept_a_pass(made):
    found = [
        summary(traced(headed.target(), made, prompt, replace(GREEDY, budget=4, fan_out=1)))
        for prompt in headed.PROMPTS
    ]
    return sum(one["tokens_per_pass"] for one in found) / len(found)


def test_head_memory_shifted_by_one_lowers_acceptance_but_text_stays_exact():
    made = Blind(drafter(learnt(embed=blind)[0]))
    right, late = kept_a_pass(made), kept_a_pass(Late(made))
    assert right > 1.5
    assert late < 1 + (right - 1) / 2
    trace = traced(headed.target(), Late(made), TEXT, GREEDY)
    assert token_ids(trace) == trace.baseline.token_ids
