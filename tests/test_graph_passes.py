"""The pass of a GPU equals transformers in every kind of pass that a run makes.

It runs on a CPU here: a graph is imitated by computing its outputs again at the same addresses.
"""

from __future__ import annotations

import gc

import pytest
import tiny
import torch
import windowed
from pretend import imitate_graph, pretended
from test_numpy_passes import BY_LENGTH, KINDS, TREE, close, same_scores, varied

from specviz.models import graph_llama, graphs
from specviz.models.fast_layers import NETWORK, describe_products
from specviz.models.graph_llama import BLOCK, GraphLlama, build
from specviz.models.graphs import MOST_ROWS, REACH
from specviz.models.network import TorchNetwork, network_of, prepare
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix
from specviz.models.small_parts import SmallParts
from specviz.models.target import Target
from specviz.verification.tree import DraftTree


def broken(function, inputs):
    raise RuntimeError("out of memory")


RECORDS = {"graphs": imitate_graph, "no graphs": broken}


@pytest.fixture(params=RECORDS)
def both(request, monkeypatch):
    """Return a function to the same model twice: computed by the GPU's pass, and transformers'."""
    monkeypatch.setattr(graphs, "record_graph", RECORDS[request.param])

    def made(kind):
        fast, usual = varied(KINDS[kind]()), varied(KINDS[kind]())
        setattr(fast, NETWORK, build(fast))
        assert isinstance(network_of(fast), GraphLlama)
        return [Target(model, tiny.tokenizer(), tiny.target().card) for model in (fast, usual)]

    return made


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


def test_long_prompt_grows_the_memory_and_equals_transformers(both):
    ids = [1 + i % 200 for i in range(BLOCK + REACH + 1)]
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


def test_early_exit_continues_from_the_drafted_layers(both):
    runs = [target.start(CaptureSpec(layers=(1, 3), final=True)) for target in both("Llama")]
    sees, shallow = TREE.mask(), []
    for run in runs:
        run.prefill(list(range(3, 20)))
        first = run.shallow([7], [0], sees[:1, :1], 2)
        run.shallow([9, 11], [1, 1], sees[1:3, :3], 2)
        run.truncate_shallow(1, 1)  # the second pass is rolled back and repeated
        rest = run.shallow([9, 11], [1, 1], sees[1:3, :3], 2)
        shallow.append(torch.cat([first, rest], dim=1))
    close(*shallow)
    close(*(run.head(states) for run, states in zip(runs, shallow, strict=True)))
    same_scores(
        *(
            run.score(TREE, None, PrecomputedPrefix(2, s))
            for run, s in zip(runs, shallow, strict=True)
        )
    )
    for run in runs:
        run.keep([0, 1, 4])
    same_scores(*(run.score(TREE) for run in runs))


def test_results_stay_when_later_passes_and_runs_use_the_same_memory(both):
    target, _ = both("Llama")
    one, other = (target.start(CaptureSpec(layers=(1,), keys_values=(1,))) for _ in range(2))
    one.prefill([5, 6, 7])
    first = one.score(TREE)
    kept = [first.logits, first.states.layers[1], *first.states.keys_values[1]]
    before = [each.clone() for each in kept]
    other.prefill([8] * 30)
    assert other.cache.memory is not one.cache.memory
    one.keep([0, 2])
    one.score(TREE)
    for each, was in zip(kept, before, strict=True):
        assert torch.equal(each, was)


def test_run_that_is_over_lends_its_memory_and_graphs_to_the_next(monkeypatch):
    recorded = []

    def counting(function, inputs):
        recorded.append(inputs[0].shape)
        return imitate_graph(function, inputs)

    monkeypatch.setattr(graphs, "record_graph", counting)
    model = tiny.llama()
    setattr(model, NETWORK, build(model))
    target = Target(model, tiny.tokenizer(), tiny.target().card)
    recorded.clear()
    memories, found = [], []
    for _ in range(2):
        run = target.start(CaptureSpec())
        run.prefill([5] * (MOST_ROWS + 1))
        found += [run.score(TREE).logits]
        memories.append(run.cache.memory)
        with torch.inference_mode():
            memories[-1].keys[:, :, 80:] = memories[-1].values[:, :, 80:] = torch.nan
        del run
        gc.collect()
    assert memories[0] is memories[1]
    assert len(recorded) == 1, "the tree's eight rows, once"
    assert torch.equal(*found), "nothing of the first run is left"


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
    assert target.environment.packing == describe_products(target.model) == "CUDA graphs"


def test_failed_recording_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(graphs, "record_graph", broken)
    model = tiny.llama()
    setattr(model, NETWORK, build(model))
    run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
    run.prefill([5, 6, 7])
    run.score(TREE)
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "passes run without CUDA graphs from here on"
    ]


def test_other_architectures_and_other_logits_keep_their_own_forward(monkeypatch, caplog):
    for model in (tiny.llama(rope_parameters=BY_LENGTH), windowed.mistral(), tiny.gpt2()):
        assert build(model) is None
    monkeypatch.setattr(graphs, "record_graph", imitate_graph)
    model = varied(KINDS["Qwen3"]())
    for layer in model.model.layers:
        layer.self_attn.q_norm.eps = layer.self_attn.q_norm.variance_epsilon = 0.5
        layer.self_attn.scaling *= 2
    assert build(model) is None
    assert "gives other logits" in caplog.text


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_models_on_a_gpu_use_it_in_every_precision(dtype):
    with pretended():
        model = tiny.llama().to(dtype).to("cuda")
        prepare(model)
        assert isinstance(network_of(model), GraphLlama)
    model = tiny.llama()
    model.__class__ = type("Other", (type(model),), {"device": torch.device("cuda", 1)})
    prepare(model)
    assert isinstance(network_of(model), TorchNetwork)


SHAPES = [
    {"head_dim": 20},
    {"tie_word_embeddings": True},
    {"tie_word_embeddings": False},
    {"attention_bias": True, "mlp_bias": True},
    {"num_key_value_heads": 1},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unusual_shapes_are_computed_on_a_gpu_with_the_logits_of_transformers(shape):
    """`build` compares the logits, and gives None if they differ."""
    with pretended():
        model = varied(tiny.llama(**shape)).to("cuda")
        prepare(model)
        assert isinstance(network_of(model), GraphLlama)
        run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
        run.prefill([5] * (REACH + 3))  # more than the smallest memory
        assert run.score(TREE).logits.isfinite().all().item()
        assert run.cache.memory.reach == 2 * REACH


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_compiled_parts_give_the_logits_of_transformers(kind, monkeypatch, caplog):
    """With the compiler's first stage, which needs neither Triton nor a C++ compiler."""
    monkeypatch.setattr(graphs, "record_graph", broken)
    model, usual = varied(KINDS[kind]()), varied(KINDS[kind]())
    network = build(model)
    network.parts = SmallParts(True, backend="aot_eager", fullgraph=True)
    setattr(model, NETWORK, network)
    targets = [Target(each, tiny.tokenizer(), tiny.target().card) for each in (model, usual)]
    runs = [target.start(CaptureSpec(layers=(1, 2), final=True)) for target in targets]
    for step in (
        lambda run: run.prefill(list(range(3, 9))),
        lambda run: run.score(TREE),
        lambda run: run.keep([0, 1, 4]),
        lambda run: run.score(DraftTree((5,), (-1,))),
    ):
        one, other = map(step, runs)
        if one is not None:
            same_scores(one, other)
    assert network.parts.works
    assert network.description == "CUDA graphs, compiled"
    assert not any("compiled" in each.message for each in caplog.records)


def test_parts_that_cannot_be_compiled_run_as_they_are(monkeypatch, caplog):
    def refuse(graph, inputs):
        raise RuntimeError("no compiler here")

    torch.compiler.reset()
    monkeypatch.setattr(graph_llama, "can_compile", lambda: True)
    monkeypatch.setattr(
        graph_llama, "SmallParts", lambda compiled=False: SmallParts(compiled, backend=refuse)
    )
    network = build(varied(KINDS["Llama"]()))
    assert network is not None
    assert network.description == "CUDA graphs"
    messages = [each.message for each in caplog.records]
    assert sum("not compiled from here on" in each for each in messages) == 1
    assert sum("other logits" in each for each in messages) == 0
