"""EAGLE, EAGLE-2 and EAGLE-3: alignment with features, cached trees, layers and losses."""

from __future__ import annotations

from dataclasses import replace

import circle
import pytest
import tiny
import torch
from driven import (
    CHUNKS,
    Shifted,
    check_dynamic,
    deep_target,
    drafter,
    driven,
    finals,
    plain_logits,
    random_head,
)
from safetensors.torch import load_file
from test_engine import traced
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer

from specviz.drafters.common.layers import causal
from specviz.drafters.common.training import read_target_outputs
from specviz.drafters.eagle import Eagle, Eagle2, Eagle3, width_under
from specviz.drafters.eagle import head as training
from specviz.drafters.eagle import head3 as training3
from specviz.drafters.eagle.head import (
    Eagle3Config,
    EagleConfig,
    EagleHead,
    default_taps,
    draft_vocabulary,
)
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.engine.loop import rounds
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import baseline_difference, summary, token_ids
from specviz.verification import Drawn
from specviz.verification.distributions import logits_to_probs

GREEDY = Settings(Sampling(0.0), max_new_tokens=24, gamma=4, siblings=[4, 3, 3, 2])
WARM = replace(GREEDY, sampling=Sampling(1.1))
FAMILIES = ["eagle", "eagle2", "eagle3"]


@pytest.mark.parametrize("siblings", [[], [3, 2], [4, 3, 3, 2]])
@pytest.mark.parametrize("temperature", [0.0, 1.3])
def test_logits_of_a_node_depend_only_on_its_path(siblings, temperature):
    target = deep_target()
    made = drafter(target)
    settings = replace(WARM, siblings=siblings, sampling=Sampling(temperature))
    seen = 0
    for text, proposal in driven(target, made, settings):
        states = finals(target, text)[:-1]
        tree = proposal.tree
        for node, kids in enumerate(tree.children):
            if not kids:
                continue
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            logits = plain_logits(made.head, states, target.model.lm_head, target, text, path)
            soft = logits.softmax(-1)
            scores = [proposal.score[kid] for kid in kids]
            assert scores == pytest.approx([soft[tree.tokens[k]].item() for k in kids], abs=1e-4)
            if temperature:
                wanted = logits_to_probs(logits, settings.sampling)
                assert torch.allclose(proposal.q[node], wanted, rtol=0, atol=1e-4)
            else:
                assert [tree.tokens[k] for k in kids] == logits.topk(len(kids)).indices.tolist()
            seen += 1
    assert seen >= 4 * len(CHUNKS)


def test_logits_in_a_dynamic_tree_depend_only_on_the_path():
    target = deep_target()
    made = drafter(target, Eagle2)
    depths = set()
    for text, proposal in driven(target, made, WARM):
        check_dynamic(target, made, text, proposal, finals(target, text)[:-1], target.model.lm_head)
        depths.add(max(proposal.tree.depths))
    assert max(depths) > 1


def kept_a_pass(target, drafter, settings=GREEDY, prompt=tiny.PROMPT):
    return summary(traced(target, drafter, prompt, settings, baseline=False))["tokens_per_pass"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_shifted_hidden_states_lower_acceptance_but_the_text_stays_exact(name):
    """The head is exact by construction: all guesses are accepted, and none with shifted rows."""
    counts = circle.target()
    counts.eos = ()
    made = circle.drafters(counts)[name]
    assert kept_a_pass(counts, made) == 24 / 6  # the prefill's token, 5 four times, and the last 3
    assert kept_a_pass(counts, Shifted(made)) == 1.0
    trace = traced(counts, Shifted(made), tiny.PROMPT, GREEDY)
    assert token_ids(trace) == trace.baseline.token_ids


@pytest.mark.slow
def test_static_tree_has_the_25_guesses_of_the_eagle_shape():
    counts = circle.target(0.2)
    (_, turn, *_) = rounds(counts, circle.drafters(counts)["eagle"], [5, 6], WARM)
    tree = turn.proposal.tree
    assert len(tree) == 26
    assert [len(kids) for kids in tree.children[:7]] == [4, 3, 2, 1, 0, 3, 2]
    assert turn.proposal.drawn is Drawn.WITHOUT_REPLACEMENT
    assert turn.proposal.evidence[6] == {"rank": 1, "guessed_features": 1}
    assert turn.proposal.evidence[0] == {"form": "features", "passes": 4}
    chain = replace(WARM, siblings=[])
    (_, turn, *_) = rounds(counts, circle.drafters(counts)["eagle"], [5, 6], chain)
    assert turn.proposal.tree.is_chain
    assert len(turn.proposal.tree) == 5
    assert turn.proposal.drawn is Drawn.SAMPLED
    assert width_under(WARM, (1, 1)) == 1


# The head


def test_loss_of_a_perfect_head_is_the_entropy_of_the_target():
    """On a text of consecutive tokens, the exact head predicts the target's next features."""
    counts = circle.target(0.2)
    outputs = read_target_outputs(counts.model, (torch.arange(12) + 40)[None])
    entropy = torch.distributions.Categorical(logits=outputs.logits[:, 1:]).entropy().mean()
    value = training.loss(circle.eagle_head(counts), outputs)
    assert value.item() == pytest.approx(0.1 * entropy.item(), abs=1e-5)
    tokens = torch.tensor([[40, 90, 10, 200, 60]])  # no guess can be correct
    jumps = read_target_outputs(counts.model, tokens)
    feature, law = [], []
    for row in range(4):
        guess = circle.places()[jumps.tokens[0, row] + 1]
        far = (guess - jumps.final[0, row + 1]).abs()
        feature.append(torch.where(far < 1, far.square() / 2, far - 0.5).mean().item())
        said = (counts.model.lm_head.weight @ guess).log_softmax(-1)
        law.append(-(jumps.logits[0, row + 1].softmax(-1) * said).sum().item())
    value = training.loss(circle.eagle_head(counts), jumps).item()
    assert value == pytest.approx(sum(feature) / 4 + 0.1 * sum(law) / 4, abs=1e-4)


@pytest.mark.slow
def test_layer_equals_the_transformers_layer_without_its_first_norm():
    """fc takes the embedding first; rotary angles, shared heads and the MLP are Llama's."""
    target = deep_target()
    head = random_head(target)
    config = target.model.config
    layer = LlamaDecoderLayer(config, 0).eval()
    layer.input_layernorm = torch.nn.Identity()
    layer.load_state_dict(head.layers[0].state_dict())
    words, features, positions = torch.randn(1, 7, 48), torch.randn(1, 7, 48), torch.arange(7)
    rotary = target.model.model.rotary_emb(words, position_ids=positions[None])
    with torch.inference_mode():
        rows = torch.cat([words, features], dim=-1) @ head.fc.weight.T + head.fc.bias
        later = torch.full((7, 7), -torch.inf).triu(1)[None, None]
        wanted = layer(rows, attention_mask=later, position_embeddings=rotary)
        assert torch.allclose(head(features, words, positions, causal), wanted, atol=1e-5)


def test_head_uses_its_own_embedding_or_else_that_of_the_target(tmp_path):
    target = deep_target()
    EagleHead(EagleConfig.like(target), own_embedding=True).save(tmp_path)
    assert "embed_tokens.weight" in load_file(tmp_path / "model.safetensors")
    made = Eagle.load("x", tmp_path, target)
    reader = made.begin(target.start(made.capture), WARM).reader
    assert reader.embed is made.head.embed_tokens
    assert Eagle2.load("two", tmp_path, target).card.hash == made.card.hash
    reader = drafter(target).begin(target.start(made.capture), WARM).reader
    assert reader.embed is target.model.get_input_embeddings()


def test_published_config_without_some_keys_has_the_defaults_of_its_code():
    public = {
        "hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "vocab_size": 280,
        "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_act": "silu",
    }  # fmt: skip
    config = EagleConfig.from_json("x", public)
    assert (config.bias, config.head_dim, config.num_key_value_heads) == (True, 12, 4)
    assert (config.rope_theta, config.made_for) == (10_000.0, None)


# EAGLE-3: three tapped layers, own outputs fed back, a reduced vocabulary

TAPS = (1, 2, 3)


def random_head3(target, vocabulary=100):
    torch.manual_seed(6)
    config = Eagle3Config.like(target, draft_vocab_size=vocabulary, tap_layers=TAPS)
    head = Eagle3Head(config).eval().requires_grad_(False)
    head.propose_only(torch.randint(0, 50, (tiny.VOCABULARY,)))
    return tiny.blurred(head, 0.3)


def drafter3(target):
    head = random_head3(target)
    return Eagle3(head, tiny.card(head, "tiny-eagle3", "eagle3"))


@pytest.mark.slow
def test_logits_of_a_node_depend_only_on_its_path_and_the_tapped_layers():
    """The reference reads transformers' hidden_states[k]: the output of layer k, from 1."""
    target = deep_target()
    made = drafter3(target)
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
    head = random_head3(deep_target())
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


def test_loss_is_weighted_mean_over_steps_and_draft_vocabulary():
    target = deep_target()
    head = random_head3(target)
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


def test_attention_reads_normalized_halves_and_residual_is_not_normalized():
    """Compare with transformers' attention on a wider input; the output is not normed."""
    target = deep_target()
    head = random_head3(target)
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
