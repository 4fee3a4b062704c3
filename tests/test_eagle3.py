"""EAGLE-3: three tapped layers in order, own outputs fed back, a reduced vocabulary."""

from __future__ import annotations

from dataclasses import replace

import circle
import pytest
import tiny
import torch
from driven import check_dynamic, deep_target, driven, plain_logits
from test_eagle import WARM
from test_engine import traced
from transformers.models.llama.modeling_llama import LlamaAttention

from specviz.drafters.common.layers import causal
from specviz.drafters.common.training import read_target_outputs
from specviz.drafters.eagle import Eagle3
from specviz.drafters.eagle import head3 as training3
from specviz.drafters.eagle.head import Eagle3Config, default_taps, draft_vocabulary
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.settings.settings import Sampling
from specviz.trace.check import check
from specviz.trace.metrics import baseline_difference

TAPS = (1, 2, 3)


def random_head(target, vocabulary=100):
    torch.manual_seed(6)
    config = Eagle3Config.like(target, draft_vocab_size=vocabulary, tap_layers=TAPS)
    head = Eagle3Head(config).eval().requires_grad_(False)
    head.propose_only(torch.randint(0, 50, (tiny.VOCABULARY,)))
    return tiny.blurred(head, 0.3)


def drafter(target):
    head = random_head(target)
    return Eagle3(head, tiny.card(head, "tiny-eagle3", "eagle3"))


@pytest.mark.slow
def test_logits_of_a_node_depend_only_on_its_path_and_the_tapped_layers():
    """The reference reads transformers' hidden_states[k]: the output of layer k, from 1."""
    target = deep_target()
    made = drafter(target)
    assert made.capture.layers == TAPS
    depths = set()
    for text, proposal in driven(target, made, WARM):
        with torch.inference_mode():
            whole = target.model(torch.tensor([text]), output_hidden_states=True).hidden_states
            states = made.head.fc(torch.cat([whole[k][0, :-1] for k in TAPS], dim=-1))
        check_dynamic(target, made, text, proposal, states, made.head.logits)
        depths.add(max(proposal.tree.depths))
        assert all(made.head.t2d[token] for token in proposal.tree.tokens[1:])
        assert proposal.evidence[0]["tap_layers"] == [1, 2, 3]
        assert proposal.evidence[0]["draft_vocabulary"] == 100
    assert max(depths) > 1


def test_d2t_maps_draft_ids_to_the_most_frequent_tokens_by_offsets():
    counts = torch.tensor([5, 0, 9, 9, 1, 7])
    d2t, t2d = draft_vocabulary(counts, 3)
    assert d2t.tolist() == [2, 2, 3]  # draft ids 0, 1, 2 are the tokens 2, 3, 5
    assert t2d.tolist() == [False, False, True, True, False, True]
    head = random_head(deep_target())
    outputs = torch.randn(2, 48)
    whole, draft = head.logits(outputs), head.draft_logits(outputs)
    for i in (0, 17, 99):
        assert torch.equal(whole[:, i + int(head.d2t[i])], draft[:, i])
    assert (whole == -torch.inf).sum() == 2 * (tiny.VOCABULARY - 100)


@pytest.mark.slow
def test_target_can_sample_tokens_outside_the_draft_vocabulary():
    counts = circle.target()
    head = circle.eagle3_head(counts, vocabulary=60)  # tokens 0 to 59 of a circle of 280
    made = Eagle3(head, tiny.card(head, "tiny-eagle3", "eagle3"))
    for temperature in (0.0, 0.9):
        settings = replace(WARM, sampling=Sampling(temperature), max_new_tokens=90)
        trace = traced(counts, made, "A", settings)
        said = [t for turn in trace.rounds for t in turn.committed.tokens]
        assert max(said) > 80
        assert min(said) < 50
        check(trace)
        assert temperature or baseline_difference(trace) is None


def test_training_and_session_read_the_same_hidden_states():
    target = deep_target()
    head = random_head(target)
    ids = torch.randint(1, tiny.VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1))
    frozen = read_target_outputs(target.model, ids)
    fused = head.fuse(frozen.states)
    for depth, guessed in enumerate(training3.guesses(head, frozen, 5), start=1):
        assert guessed.shape == (2, 9 - depth, tiny.VOCABULARY)
        for row in (0, 2, 8 - depth):
            text, path = ids[1, : row + 2].tolist(), ids[1, row + 2 : row + 1 + depth].tolist()
            logits = plain_logits(head, fused[1, : row + 1], head.logits, target, text, path)
            able = logits.isfinite()
            assert torch.allclose(guessed[1, row][able], logits[able], atol=1e-3)


def test_loss_is_weighted_mean_over_steps_and_draft_vocabulary():
    target = deep_target()
    head = random_head(target)
    ids = torch.randint(1, tiny.VOCABULARY, (3, 12), generator=torch.Generator().manual_seed(1))
    frozen = read_target_outputs(target.model, ids)
    able = head.t2d.nonzero().flatten()
    total = weights = 0.0
    for depth, guessed in enumerate(training3.guesses(head, frozen, 3), start=1):
        missed = []
        for text in range(3):
            for row in range(12 - depth):
                wanted = frozen.logits[text, row + depth]
                if wanted.argmax() in able:
                    law = wanted[able].softmax(-1)
                    missed.append(-(law * guessed[text, row, able].log_softmax(-1)).sum())
        assert 0 < len(missed) < 3 * (12 - depth)
        total += 0.8 ** (depth - 1) * torch.stack(missed).mean().item()
        weights += 0.8 ** (depth - 1)
    assert training3.loss(head, frozen, steps=3).item() == pytest.approx(total / weights, rel=1e-4)


@pytest.mark.slow
def test_training_updates_every_weight():
    target = deep_target()
    head = random_head(target).train().requires_grad_(True)
    ids = torch.randint(1, tiny.VOCABULARY, (4, 16), generator=torch.Generator().manual_seed(1))
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    frozen, values = read_target_outputs(target.model, ids), []
    for _ in range(8):
        value = training3.loss(head, frozen)
        value.backward()
        assert all(weight.grad.abs().sum() > 0 for weight in head.parameters())
        optimizer.step()
        optimizer.zero_grad()
        values.append(value.item())
    assert values[-1] < 0.95 * values[0]
    assert training3.loss(head, read_target_outputs(target.model, ids[:, :3])).isfinite()


def test_attention_reads_normalized_halves_and_residual_is_not_normalized():
    """Compare with transformers' attention on a wider input; the output is not normed."""
    target = deep_target()
    head = random_head(target)
    layer, config = head.midlayer, target.model.config
    own = layer.self_attn
    attention = LlamaAttention(config, 0).eval()
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        setattr(attention, name, getattr(own, name))
    words, states, positions = torch.randn(1, 7, 48), torch.randn(1, 7, 48), torch.arange(7)
    for norm in (layer.input_layernorm, layer.hidden_norm, layer.post_attention_layernorm):
        norm.weight.copy_(torch.rand(48) + 0.5)

    def normed(rows, norm):
        return rows / (rows.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.weight

    rotary = target.model.model.rotary_emb(words, position_ids=positions[None])
    later = torch.full((7, 7), -torch.inf).triu(1)[None, None]
    with torch.inference_mode():
        both = torch.cat(
            [normed(words, layer.input_layernorm), normed(states, layer.hidden_norm)], -1
        )
        wanted = states + attention(both, rotary, later)[0]
        wanted = wanted + layer.mlp(normed(wanted, layer.post_attention_layernorm))
        found = head(states, words, positions, causal)
        assert torch.allclose(found, wanted, atol=1e-4)
        logits = normed(found, head.norm) @ head.lm_head.weight.T
        assert torch.allclose(head.draft_logits(found), logits, atol=1e-4)


def test_default_tapped_layers_equal_those_of_the_eagle_3_code():
    assert default_taps(32) == (2, 16, 29)
    assert default_taps(12) == (2, 6, 9)
