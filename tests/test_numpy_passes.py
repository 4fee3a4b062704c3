"""The passes of our own equal transformers in every kind of pass that a run makes.

The pass of a GPU runs on a CPU here: a graph is imitated by computing its outputs again at the same
addresses. `test_graph_passes.py` tests its memory and recordings.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import driven
import pytest
import tiny
import torch
import windowed
from pretend import imitate_graph, refuse_graph
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from specviz.adapters.transformers import llama_decoder
from specviz.drafters.common.checkpoint import freeze_like
from specviz.drafters.common.features import FeatureReader, NumpyLayers, TorchLayers
from specviz.drafters.common.layers import Attention, Mlp, causal
from specviz.drafters.eagle.head import Eagle3Config, EagleConfig, EagleHead
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.models import graphs
from specviz.models.fast_layers import NETWORK, describe_products
from specviz.models.graph_llama import BLOCK as GPU_BLOCK
from specviz.models.graph_llama import GraphLlama, build
from specviz.models.graphs import MOST_ROWS, REACH
from specviz.models.network import TorchNetwork, network_of, prepare
from specviz.models.numpy_llama import BLOCK, NumpyLlama
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix, States
from specviz.models.small_parts import can_compile
from specviz.models.target import Target
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree

WHOLE = {"num_hidden_layers": 3, "sliding_window": None, "use_sliding_window": False}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10_000.0, "factor": 4.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}  # fmt: skip
KINDS = {
    "Llama": lambda: tiny.llama(num_hidden_layers=3),
    "Llama, untied": lambda: tiny.llama(tie_word_embeddings=False),
    "Llama, biases": lambda: tiny.llama(attention_bias=True, mlp_bias=True),
    "Llama, no shared heads": lambda: tiny.llama(num_key_value_heads=4),
    "Llama, wide heads": lambda: tiny.llama(head_dim=16),
    "Llama 3.1's angles": lambda: tiny.llama(rope_parameters=LLAMA3),
    "Mistral": lambda: windowed.mistral(**WHOLE),
    "Qwen2": lambda: windowed.qwen2(**WHOLE),
    "Qwen3": lambda: tiny.loud(Qwen3ForCausalLM, Qwen3Config(**windowed.USUAL | WHOLE), 1),
}
BY_LENGTH = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
TREE = DraftTree((7, 9, 11, 13, 15, 17), (-1, 0, 0, 1, 1, 3))


def varied(model):
    """Set biases and norms that matter: in new models, biases are 0 and norms are 1."""
    torch.manual_seed(9)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(std=0.5)
            elif "norm" in name:
                weight.uniform_(0.5, 1.5)
    return model


# By name of the pass: its class, and the function that stands for recording a graph.
PASSES = {
    "NumPy": (NumpyLlama, refuse_graph),
    "graphs": (GraphLlama, imitate_graph),
    "no graphs": (GraphLlama, refuse_graph),
}


@pytest.fixture(params=PASSES)
def both(request, monkeypatch):
    """Return a function to the same model twice: computed by a pass of ours, by transformers."""
    kind_of_pass, record = PASSES[request.param]
    monkeypatch.setattr(graphs, "record_graph", record)

    def made(kind):
        fast, usual = varied(KINDS[kind]()), varied(KINDS[kind]())
        if kind_of_pass is GraphLlama:
            setattr(fast, NETWORK, build(fast))
        else:
            prepare(fast)
        assert isinstance(network_of(fast), kind_of_pass)
        assert isinstance(network_of(usual), TorchNetwork)
        return [Target(model, tiny.tokenizer(), tiny.target().card) for model in (fast, usual)]

    return made


by_numpy = pytest.mark.parametrize("both", ["NumPy"], indirect=True)
on_gpu = pytest.mark.parametrize("both", ["graphs", "no graphs"], indirect=True)


def close(one, other):
    """Assert equality up to rounding, which reaches the fourth digit with these large weights."""
    torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-3)


def same_scores(one, other):
    close(one.logits, other.logits)
    assert one.states.layers.keys() == other.states.layers.keys()
    close(one.states.layers, other.states.layers)
    close(one.states.final, other.states.final)
    close(one.states.keys_values, other.states.keys_values)
    assert (one.extra_rows is None) == (other.extra_rows is None)
    if one.extra_rows is not None:
        close(one.extra_rows.logits, other.extra_rows.logits)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_pass_equals_transformers(both, kind):
    taps = CaptureSpec(layers=(1, 2), final=True, keys_values=(1, 2))
    extra_rows = ExtraRows((21, 22), (1, 2), torch.eye(8, dtype=torch.bool)[6:])
    runs = [target.start(taps) for target in both(kind)]
    for step in (
        lambda run: run.prefill(list(range(3, 60))),
        lambda run: run.score(DraftTree((5,), (-1,))),
        lambda run: run.keep([0]),
        lambda run: run.score(TREE),
        lambda run: run.keep([0, 1, 3, 5]),
        lambda run: run.score(DraftTree.chain(8, (9, 10, 11))),
        lambda run: run.keep([0, 1]),
        lambda run: run.score(TREE, extra_rows),
        lambda run: run.keep([0, 2]),
        lambda run: run.score(DraftTree.chain(8, tuple(range(20, 20 + MOST_ROWS)))),
        lambda run: run.keep([0, 1, 2]),
        lambda run: run.score(DraftTree((6,), (-1,))),
    ):
        one, other = map(step, runs)
        if one is not None:
            same_scores(one, other)


@by_numpy
def test_long_prompt_read_in_blocks_equals_transformers(both):
    ids = [1 + i % 200 for i in range(BLOCK + BLOCK // 2 + 1)]
    taps = CaptureSpec(layers=(2,), final=True)
    runs = [target.start(taps) for target in both("Llama")]
    same_scores(*(run.prefill(ids) for run in runs))
    same_scores(*(run.score(TREE) for run in runs))


def test_early_exit_verification_continues_from_the_drafted_layers(both):
    runs = [target.start(CaptureSpec(layers=(1, 3), final=True)) for target in both("Llama")]
    for run in runs:
        run.prefill(list(range(3, 20)))
    sees = TREE.mask()
    shallow = []
    for run in runs:
        first = run.shallow([7], [0], sees[:1, :1], 2)
        rest = run.shallow([9, 11], [1, 1], sees[1:3, :3], 2)
        shallow.append(torch.cat([first, rest], dim=1))
        run.truncate_shallow(1, 1)  # the second pass is rolled back and repeated
        run.shallow([9, 11], [1, 1], sees[1:3, :3], 2)
    close(*shallow)
    close(*(run.head(states) for run, states in zip(runs, shallow, strict=True)))
    scores = [
        run.score(TREE, None, PrecomputedPrefix(2, s)) for run, s in zip(runs, shallow, strict=True)
    ]
    same_scores(*scores)
    for run in runs:
        run.keep([0, 1, 4])
    same_scores(*(run.score(TREE) for run in runs))
    for run in runs:
        run.keep([0])
    whole = [run.shallow(TREE.tokens, TREE.depths, sees, 2) for run in runs]  # no node is left
    prefixes = [PrecomputedPrefix(2, each) for each in whole]
    pairs = zip(runs, prefixes, strict=True)
    same_scores(*(run.score(TREE, None, prefix) for run, prefix in pairs))


def test_results_stay_when_later_passes_and_runs_use_the_same_memory(both):
    target, _ = both("Llama")
    one, other = (target.start(CaptureSpec(layers=(1,), keys_values=(1,))) for _ in range(2))
    one.prefill([5, 6, 7])
    first = one.score(TREE)
    kept = [first.logits, first.states.layers[1], *first.states.keys_values[1]]
    before = [each.clone() for each in kept]
    other.prefill([8] * 30)
    assert other.cache is not one.cache
    one.keep([0, 2])
    one.score(TREE)
    for each, was in zip(kept, before, strict=True):
        assert torch.equal(each, was)


@on_gpu
def test_long_prompt_grows_the_memory_and_equals_transformers(both):
    ids = [1 + i % 200 for i in range(GPU_BLOCK + REACH + 1)]
    runs = [target.start(CaptureSpec(layers=(2,), final=True)) for target in both("Llama")]
    for run in runs:
        run.prefill(ids[: REACH - 3])
        run.score(DraftTree((5,), (-1,)))
        run.keep([0])
    same_scores(*(run.score(TREE) for run in runs))  # past the smallest memory
    for run in runs:
        run.keep([0, 1, 4])
    same_scores(*(run.score(TREE) for run in runs))
    assert runs[0].cache.memory.reach == 2 * REACH
    same_scores(*(target.start(CaptureSpec(final=True)).prefill(ids) for target in both("Qwen3")))


@on_gpu
def test_projections_are_stored_once_and_the_header_names_the_pass(both):
    target, usual = both("Qwen2")
    for layer in target.model.model.layers:
        for group in (
            (layer.self_attn.q_proj, layer.self_attn.v_proj),
            (layer.mlp.up_proj, layer.mlp.gate_proj),
        ):
            assert len({each.weight.untyped_storage().data_ptr() for each in group}) == 1
    words = torch.arange(3, 30)[None]
    with torch.inference_mode():
        close(target.model(words).logits, usual.model(words).logits)
    named = "CUDA graphs, compiled" if can_compile() else "CUDA graphs"
    assert target.environment.packing == describe_products(target.model) == named


@by_numpy
def test_cache_grows_without_losing_rows(both):
    target, _ = both("Llama")
    long, short = (target.start(CaptureSpec()) for _ in range(2))
    ids = [1 + i % 250 for i in range(200)]
    long.prefill(ids)
    short.prefill(ids[:2])
    capacities = set()
    for token in ids[2:]:
        short.score(DraftTree((token,), (-1,)))
        short.keep([0])
        capacities.add(short.cache.rows.shape[3])
    assert len(capacities) > 1
    for layer in (1, 2, 3):
        close(short.cache.newest(layer, 200)[0], long.cache.newest(layer, 200)[0])


def test_other_architectures_keep_their_own_forward():
    for model in (
        tiny.llama(hidden_act="gelu"),
        tiny.llama(rope_parameters=BY_LENGTH),
        windowed.mistral(),
        tiny.gpt2(),
        tiny.neox(),
        tiny.llama().bfloat16(),
    ):
        prepare(model)
        assert isinstance(network_of(model), TorchNetwork)


def test_network_with_differing_numpy_logits_keeps_its_own_forward():
    class Louder(type(tiny.llama())):
        def forward(self, *args, **options):
            out = super().forward(*args, **options)
            out.logits = out.logits * 1.1
            return out

    Louder.__name__, Louder.__module__ = "LlamaForCausalLM", "transformers.models.llama"
    model = tiny.llama()
    model.__class__ = Louder
    assert llama_decoder(model) is not None
    prepare(model)
    assert isinstance(network_of(model), TorchNetwork)
    del model.model.layers[1].mlp.gate_proj
    assert llama_decoder(model) is None, "it lacks an expected part"


@by_numpy
@torch.inference_mode()
def test_rounding_error_is_at_most_that_of_transformers(both):
    """Both are compared with the same model in float64."""
    exact = varied(KINDS["Llama"]()).double()
    fast, usual = both("Llama")
    words = torch.arange(3, 60)[None]
    wanted = exact(input_ids=words).logits[0, -1:]
    errors = [
        float((target.start(CaptureSpec()).prefill(words[0].tolist()).logits - wanted).abs().max())
        for target in (fast, usual)
    ]
    assert errors[0] < 3 * errors[1]
    assert errors[0] < 1e-3


# Heads whose layers run in NumPy give the same numbers as their torch forward.

TAPS = (1, 2, 3)
GROUPED = {"num_key_value_heads": 2}
QWEN3 = GROUPED | {"head_norms": True, "biases": ("q_proj", "v_proj", "o_proj")}
SCALED = {"rope_scaling": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}}
HEADS = {
    "EAGLE": (EagleHead, EagleConfig, {}),
    "EAGLE, grouped queries, no bias": (EagleHead, EagleConfig, GROUPED | {"bias": False}),
    "EAGLE-3": (Eagle3Head, Eagle3Config, {}),
    "EAGLE-3 around a layer of Qwen3's kind": (Eagle3Head, Eagle3Config, QWEN3),
    "EAGLE-3, scaled positions": (Eagle3Head, Eagle3Config, SCALED),
    "EAGLE-3, normed residual": (Eagle3Head, Eagle3Config, {"norm_before_residual": True}),
    "EAGLE-3, normed output": (Eagle3Head, Eagle3Config, {"norm_output": True}),
    "EAGLE-3, normed taps": (Eagle3Head, Eagle3Config, {"fc_norm": True, "norm_before_fc": True}),
}


def heads(name, target):
    kind, config, changes = HEADS[name]
    own = {} if kind is EagleHead else {"draft_vocab_size": 100, "tap_layers": TAPS}
    torch.manual_seed(4)
    head = kind(replace(config.like(target, **own), **changes)).eval().requires_grad_(False)
    loud = 0.15 if kind is EagleHead else 0.4  # no norm bounds what EAGLE's attention reads
    for weight in head.parameters():
        weight.copy_(torch.randn_like(weight) * loud + (1.0 if weight.dim() == 1 else 0.0))
    ready = deepcopy(head)
    freeze_like(ready, target.model)
    return [head, ready]


def reader(head, target):
    if isinstance(head, Eagle3Head):
        return FeatureReader(
            head, target, lambda s: head.fuse(s.layers), head.logits_function(), "head"
        )
    project = target.model.get_output_embeddings()
    return FeatureReader(head, target, lambda s: s.final, project, "head")


def states(many, seed):
    made = torch.randn(4, many, 48, generator=torch.Generator().manual_seed(seed))
    return States(dict(zip(TAPS, made[:3], strict=True)), made[3])


@torch.inference_mode()
def scores(reader):
    """Return logits of a text, two levels of a tree, a dropped level, and a longer text."""
    found = []

    def read_text(length):
        uploads = UploadBatch(torch.device("cpu"))
        found.append(reader.plan_text(range(length), uploads)())

    def read_level(nodes, tokens, above):
        uploads = UploadBatch(torch.device("cpu"))
        found.append(reader.plan_level(nodes, above, uploads)(torch.tensor(tokens)))

    reader.add_states(states(5, 1), [3, 9, 27, 81, 4])
    read_text(6)
    read_level([1, 2], [7, 8], [0, 0])
    read_level([3, 4, 5], [11, 12, 13], [1, 2, 1])
    reader.discard_from(3)
    read_level([3], [11], [1])
    reader.add_states(states(1, 2), [7])
    read_text(7)
    read_level([1], [5], [0])
    reader.add_states(states(2, 3), [5, 6])
    read_text(9)
    return found


@pytest.mark.parametrize("name", HEADS)
def test_heads_give_the_same_logits_in_numpy_and_torch(name):
    target = driven.deep_target()
    usual, fast = (reader(head, target) for head in heads(name, target))
    assert isinstance(usual.layers, TorchLayers)
    assert isinstance(fast.layers, NumpyLayers)
    # Logits are up to 30 here, and processors differ in the order in which they add.
    for wanted, found in zip(scores(usual), scores(fast), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-3, rtol=2e-4)


@pytest.mark.parametrize("name", ["EAGLE-3", "EAGLE-3 around a layer of Qwen3's kind"])
def test_fused_attention_and_mlp_give_the_same_output_through_torch(name):
    """P-EAGLE and DFlash call the torch forward of the parts."""
    usual, fast = (head.midlayer for head in heads(name, driven.deep_target()))
    rows, positions = torch.randn(1, 4, 96), torch.arange(4)
    with torch.inference_mode():
        wanted = usual.self_attn(rows, positions, causal)
        found = fast.self_attn(rows, positions, causal)
        torch.testing.assert_close(found, wanted, atol=2e-4, rtol=2e-4)
        rows = rows[..., :48]
        torch.testing.assert_close(fast.mlp(rows), usual.mlp(rows), atol=2e-4, rtol=2e-4)


def test_weights_grouped_for_numpy_are_stored_once_and_let_gradients_through():
    _, fast = heads("EAGLE-3", driven.deep_target())
    for part in [m for m in fast.modules() if isinstance(m, Attention | Mlp)]:
        for group in part.product_groups():
            assert len({layer.weight.untyped_storage().data_ptr() for layer in group}) == 1
            assert all(type(layer) is nn.Linear for layer in group)
    layer, rows = fast.midlayer, torch.randn(1, 3, 48, requires_grad=True)
    layer.mlp(rows).sum().backward()
    both = torch.cat([rows, rows], dim=-1)
    layer.self_attn(both, torch.arange(3), causal).sum().backward()
    assert rows.grad.abs().sum() > 0
