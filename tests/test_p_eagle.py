"""P-EAGLE: one pass for all guesses, masks that attend to their own path, training, traces."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import tiny
import torch
from driven import check_places, deep_target, driven
from once import once

from specviz.drafters.common.layers import masked
from specviz.drafters.eagle import parallel_training as training
from specviz.drafters.eagle.parallel import PEagle, PEagleConfig, PEagleHead
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

SIZE = 5  # guesses of a draft
VOCABULARY = 100
TAPS = (1, 2, 3)
GREEDY = Settings(Sampling(0), gamma=9, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=9, max_new_tokens=24)


def config(target, **changes):
    """Return the house config with fewer guesses, and taps of a small target."""
    small = {"speculative_tokens": SIZE, "tap_layers": TAPS} | changes
    return PEagleConfig.house(target, **small)


def random_head(target):
    """Return a head with large random weights and norms, so that every part matters."""
    torch.manual_seed(8)
    made = PEagleHead(config(target, draft_vocab_size=VOCABULARY))
    head = made.eval().requires_grad_(False)
    head.propose_only(torch.randint(0, 50, (tiny.VOCABULARY,)))
    torch.nn.init.normal_(head.mask_hidden)
    for name, weight in head.named_parameters():
        if weight.dim() == 1 and name != "mask_hidden":
            weight.copy_(torch.rand_like(weight) + 0.5)
    return tiny.blurred(head, 0.2)


def learned(steps):
    """Train a head for the taught target."""
    torch.manual_seed(3)
    target = headed.target()
    counts = headed.words().bincount(minlength=target.vocab_size)
    head = training.build(target, counts, speculative_tokens=SIZE, tap_layers=TAPS).train()
    return headed.fitted(head, training.loss, steps)


@once
def trained():
    """Return the head that most tests use."""
    return learned(90)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return PEagle(head, tiny.card(head, "tiny-p-eagle", "p-eagle"))


@torch.inference_mode()
def distributions(head, target, text, depth):
    """Return the distributions (depth, V) after `text`, from one causal pass without a cache."""
    states = headed.read_target_outputs(target.model, torch.tensor([text[:-1]])).states
    taps = torch.cat([states[k][0] for k in TAPS], dim=-1)
    empty = head.mask_hidden.expand(depth - 1, -1)
    fused = head.fc(torch.cat([taps, empty]))[None]
    tokens = torch.tensor([[*text[1:], *[head.config.mask_token_id] * (depth - 1)]])
    words = target.model.get_input_embeddings()(tokens)
    count = tokens.shape[1]
    mix = masked(torch.ones(count, count, dtype=torch.bool).tril())
    rows = head.run_layers(fused, words, torch.arange(count), [mix, mix])[0]
    return head.logits(rows[-depth:]).softmax(-1)


@pytest.mark.parametrize(
    ("settings", "most"), [(GREEDY, SIZE), (WARM, SIZE), (replace(GREEDY, gamma=2), 2)]
)
def test_guesses_are_the_top_tokens_of_a_single_pass(settings, most):
    """The head was trained for SIZE guesses; a greater γ does not add more."""
    target = deep_target()
    head = random_head(target)
    for text, proposal in driven(target, drafter(head), settings):
        tokens = list(proposal.tree.tokens[1:])
        remark = proposal.evidence[0]
        depth = remark["masks"] + 1
        assert proposal.drawn is Drawn.POINT_MASS
        assert not proposal.q
        assert proposal.tree.parents == tuple(range(-1, len(tokens)))
        assert len(tokens) == depth or tokens[-1] in target.eos
        assert depth == most
        soft = distributions(head, target, text, depth)
        assert tokens == soft.argmax(-1)[: len(tokens)].tolist()
        assert remark["states"] == len(text) - 1
        assert remark["passes"] == 1
        check_places(remark["places"], soft)


# Training


def test_sampled_training_rows_are_nested_and_end_with_the_text():
    torch.manual_seed(0)
    length, depth = 200, 6
    rows = training.sampled_rows(length, depth)
    assert rows.anchors[:length].tolist() == list(range(length))
    assert (rows.depths[:length] == 1).all()
    by_depth = [set(rows.anchors[rows.depths == d].tolist()) for d in range(2, depth + 1)]
    assert len(by_depth[0]) > 0.9 * training.FOLLOWED
    for k, (longer, shorter) in enumerate(zip(by_depth[1:], by_depth[:-1], strict=True), start=1):
        assert longer < shorter
        wanted = training.FOLLOWED * training.KEPT**k
        assert wanted - depth - 1 <= len(longer) <= wanted + 1
    assert (rows.anchors + rows.depths <= length).all()


def test_loss_is_the_weighted_mean_over_depths():
    torch.manual_seed(2)
    head = learned(3)
    outputs = headed.outputs(1)
    length = outputs.tokens.shape[1] - 1
    rows = training.sampled_rows(length, SIZE)
    guesses = training.guesses(head, outputs)
    means = []
    for depth in range(1, SIZE + 1):
        parts = []
        for anchor in rows.anchors[rows.depths == depth].tolist():
            for i, goal in enumerate(outputs.logits[:, anchor + depth]):
                if head.t2d[goal.argmax()]:
                    p = goal[head.tokens].softmax(-1)
                    q = guesses[depth - 1][i, anchor][head.tokens].log_softmax(-1)
                    parts.append(-(p * q).sum())
        means.append(torch.stack(parts).mean())
    weights = [training.DECAY**k for k in range(SIZE)]
    expected = sum(w * mean for w, mean in zip(weights, means, strict=True)) / sum(weights)
    assert training.loss(head, outputs, rows).item() == pytest.approx(expected.item(), abs=1e-4)


def test_new_head_is_initialised_from_norm_and_output_rows_of_the_target():
    target = headed.target()
    counts = headed.words().bincount(minlength=target.vocab_size)
    head = training.build(target, counts, tap_layers=TAPS)
    assert int(head.t2d.sum()) == round(0.75 * target.vocab_size)
    assert counts[head.t2d].min() >= counts[~head.t2d].max()
    rows = target.model.get_output_embeddings().weight[head.tokens]
    assert torch.equal(head.lm_head.weight, rows)
    assert torch.equal(head.norm.weight, target.model.model.norm.weight)
    assert head.lm_head.weight.requires_grad
    assert head.mask_hidden.std() > 0.5
