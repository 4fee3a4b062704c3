"""Early exit: q is that of the first layers, p that of the whole model; no layer runs twice."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
import tiny
import torch
from driven import grid, turns
from test_engine import traced
from transformers import GraniteConfig, GraniteForCausalLM

from specviz.catalog.entry import with_defaults
from specviz.drafters.layerskip import LayerSkip, LayerSkipSession
from specviz.models.passes import UnsupportedModel
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.trace.check import check
from specviz.verification.distributions import logits_to_probs

LAYERS = 6
SHAPES = [[], [3, 2], [1, 3], [2, 2, 2]]
WARM = Settings(Sampling(1.1), gamma=4, siblings=[3, 2], max_new_tokens=24)
GREEDY = Settings(Sampling(0.0), gamma=4, max_new_tokens=24)


class Exit(LayerSkip):
    """Exits after a given layer, regardless of the settings."""

    def __init__(self, target, layer=3):
        super().__init__(target)
        self.layer = layer

    def begin(self, target, settings):
        return LayerSkipSession(target, settings, self.layer)


def deep(seed=1, layers=LAYERS, calm=0.25):
    """A Llama whose layers after the second change little, so that early exits are often right."""
    model = tiny.llama(seed, num_hidden_layers=layers)
    for layer in model.model.layers[2:]:
        layer.self_attn.o_proj.weight.mul_(calm)
        layer.mlp.down_proj.weight.mul_(calm)
    return model


@pytest.fixture(scope="module")
def target():
    return tiny.target(deep())


def logits_by_layer(model, tokens):
    """Return logits after `tokens` by layer, from 1, in a plain pass without cache or mask."""
    with torch.inference_mode():
        out = model(torch.tensor([tokens]), output_hidden_states=True)
        *early, _normed = (hidden[0, -1] for hidden in out.hidden_states[1:])
        laid = [model.lm_head(model.model.norm(hidden)) for hidden in early]
    return {**dict(enumerate(laid, 1)), len(laid) + 1: out.logits[0, -1]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "layer", "siblings"), grid(["sdpa", "eager"], [2, 5], SHAPES, every=5)
)
def test_q_comes_from_the_exit_layer_and_p_from_the_whole_model(attention, siblings, layer):
    target = tiny.target(deep())
    target.model.set_attn_implementation(attention)
    settings = replace(WARM, siblings=siblings, gamma=3, sampling=Sampling(1.6))
    kept = set()
    for text, turn in turns(target, Exit(target, layer), settings):
        tree = turn.proposal.tree
        for node in range(len(tree)):
            path = [tree.tokens[n] for n in tree.path(node)]
            by_layer = logits_by_layer(target.model, [*text[:-1], *path])
            p, q = (logits_to_probs(by_layer[k], settings.sampling) for k in (LAYERS, layer))
            assert torch.allclose(turn.p[node], p, rtol=0, atol=1e-4)
            if node in turn.proposal.q:
                assert torch.allclose(turn.proposal.q[node], q, rtol=0, atol=1e-4)
            for kid in tree.children[node]:
                score = by_layer[layer].softmax(-1)[tree.tokens[kid]].item()
                assert turn.proposal.score[kid] == pytest.approx(score, abs=1e-4)
        kept.add(turn.verdict.path)
    assert len(kept) > 1
    assert not siblings or any(path != tuple(range(1, len(path) + 1)) for path in kept)


class Counting:
    """Count, by layer from 1, calls and their rows; layer 0 is the output head."""

    def __init__(self, model):
        self.calls, self.rows = Counter(), Counter()
        for k, layer in enumerate([model.lm_head, *model.model.layers]):
            layer.register_forward_hook(self.count(k))

    def count(self, k):
        def hook(_module, inputs, _output):
            self.calls[k] += 1
            self.rows[k] += inputs[0].numel() // inputs[0].shape[-1]

        return hook

    def clear(self):
        self.calls.clear()
        self.rows.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "temperature", "siblings"), grid([1, 3, 5], [0, 1.1], SHAPES, every=5)
)
def test_no_layer_runs_twice_for_a_token(siblings, temperature, layer):
    """Layers 1..E run once per level, the others once per round, with one row per node."""
    target = tiny.target(deep())
    settings = replace(WARM, siblings=siblings, sampling=Sampling(temperature))
    drafter = Exit(target, layer)
    counted = Counting(target.model)
    full = 0
    for text, turn in turns(target, drafter, settings):
        nodes, depth = len(turn.proposal.tree), max(turn.proposal.tree.depths)
        first = not full
        full += 1
        if first:  # the prefill
            assert counted.calls.pop(LAYERS) == 2
            assert counted.rows.pop(LAYERS) == nodes + len(text) - 1
            counted.clear()
            continue
        if depth:
            assert turn.proposal.precomputed.states.shape[1] < nodes
        early, late = range(1, layer + 1), range(layer + 1, LAYERS + 1)
        # drafting reads all levels but the last, which verification computes up to the exit
        assert [counted.calls[k] for k in early] == [depth + 1] * layer
        assert [counted.rows[k] for k in early] == [nodes] * layer
        assert [counted.calls[k] for k in late] == [1] * len(late)
        assert [counted.rows[k] for k in late] == [nodes] * len(late)
        assert counted.calls[0] == depth + 1  # the head: once a level, once to verify
        read = sum(d < depth for d in turn.proposal.tree.depths)
        assert counted.rows[0] == nodes + read
        assert (turn.proposal.precomputed is None) == (depth == 0)
        counted.clear()
    assert full > 3


@pytest.mark.slow
def test_reading_the_evidence_runs_no_layer():
    target = tiny.target(deep())
    drafter, counted = Exit(target), Counting(target.model)
    for _text, turn in turns(target, drafter, WARM):
        counted.clear()
        assert set(turn.proposal.evidence) == set(range(len(turn.proposal.tree)))
        assert set(counted.calls) == {0}
        counted.clear()
        assert turn.proposal.evidence[0]["exit"] == 3
        assert not counted.calls


def top_layers(model, text, token, layers):
    """Return the layers whose top token after `text` is this one."""
    by_layer = logits_by_layer(model, text)
    return [k for k in layers if by_layer[k].argmax().item() == token]


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0, 1.1])
@pytest.mark.parametrize("siblings", [[], [3, 2]])
def test_evidence_names_layers_that_agree_and_how_many_layers_ran(target, temperature, siblings):
    settings = replace(WARM, siblings=siblings, sampling=Sampling(temperature))
    last, seen = None, Counter()
    for text, turn in turns(target, Exit(target), settings):
        tree, evidence = turn.proposal.tree, turn.proposal.evidence
        deepest = max(tree.depths)
        for node in range(1, len(tree)):
            before = [*text[:-1], *(tree.tokens[n] for n in tree.path(tree.parents[node]))]
            agree = top_layers(target.model, before, tree.tokens[node], (1, 2, 3))
            ran = 3 if tree.depths[node] < deepest else 0
            assert evidence[node] == {"exit": 3, "ran": ran, "agree": agree}
            assert temperature or tree.children[tree.parents[node]][0] != node or 3 in agree
        remark = evidence[0]
        assert json.loads(json.dumps(remark)) == remark
        ran = 3 if deepest else 0
        assert {k: remark[k] for k in ("exit", "layers", "ran", "passes")} == {
            "exit": 3, "layers": LAYERS, "ran": ran, "passes": deepest,
        }  # fmt: skip
        assert remark["before"] == (shown(target.model, *last) if last else {})
        seen.update(map(str, remark["before"].get("verified", {}).values()))
        last = (text, turn)
    assert len(seen) > 2


def shown(model, text, turn):
    """Return the evidence of verification for a round, from plain passes over its text."""
    tree, every, found = turn.proposal.tree, range(1, LAYERS + 1), {}
    for node in (0, *turn.verdict.path):
        path = [*text[:-1], *(tree.tokens[n] for n in tree.path(node))]
        for kid in tree.children[node]:
            found[str(kid)] = top_layers(model, path, tree.tokens[kid], every)
    kept = [tree.tokens[n] for n in turn.verdict.path]
    final = top_layers(model, [*text, *kept], turn.tokens[-1], every)
    return {"verified": found, "final": final}


def test_exit_layer_is_read_from_the_settings_and_validated(target):
    drafter = LayerSkip(target)
    run = target.start(drafter.capture)
    assert drafter.begin(run, Settings(exit_layer=2)).exit_layer == 2
    assert drafter.begin(run, Settings(exit_layer=3)).exit_layer == 3
    for layers, says in ((4, "has 4 layers, .* between 1 and 3, not 6"), (1, "one")):
        short = tiny.target(tiny.llama(num_hidden_layers=layers))
        with pytest.raises(BadSettings, match=says):
            traced(short, LayerSkip(short), tiny.PROMPT, replace(GREEDY, exit_layer=6))


@pytest.mark.slow
def test_default_exit_layer_is_half_the_number_of_layers():
    usual = Settings.from_json(with_defaults("layerskip", {"sampling": {"temperature": 0.0}}))
    for layers, half in ((2, 1), (3, 1), (5, 2), (6, 3)):
        short = tiny.target(tiny.llama(num_hidden_layers=layers))
        trace = traced(short, LayerSkip(short), tiny.PROMPT, replace(usual, max_new_tokens=8))
        assert trace.header.settings["exit_layer"] == half
        assert {played.proposed.remark["exit"] for played in trace.rounds[1:]} == {half}
        check(trace)


def test_early_exit_drafter_of_another_target_is_refused(target):
    with pytest.raises(ValueError, match="another model than tiny"):
        traced(tiny.target(deep(2)), LayerSkip(target), tiny.PROMPT, GREEDY)


def granite(**changes):
    config = GraniteConfig(
        vocab_size=tiny.VOCABULARY, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, bos_token_id=0, eos_token_id=0, **changes,
    )  # fmt: skip
    return tiny.loud(GraniteForCausalLM, config, 1)


def test_decoder_that_cannot_exit_early_is_refused():
    LayerSkip.load("early", None, tiny.target(granite()))
    scaled = "a granite, that does not give the same result"
    for model, says in (
        (tiny.gpt2(), "Llama-like"),
        (tiny.neox(), "Llama-like"),
        (granite(embedding_multiplier=3.0), scaled),
        (granite(logits_scaling=3.0), scaled),
    ):
        with pytest.raises(UnsupportedModel, match=says):
            LayerSkip.load("early", None, tiny.target(model))
