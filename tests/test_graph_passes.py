"""The memory and the recordings of a GPU's pass, on a CPU; `test_numpy_passes.py` compares it."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
import tiny
import torch
import windowed
from pretend import imitate_graph, pretended, refuse_graph
from test_numpy_passes import BY_LENGTH, KINDS, TREE, same_scores, varied

from specviz.models import graph_llama, graphs
from specviz.models.fast_layers import NETWORK
from specviz.models.graph_llama import GraphLlama, build
from specviz.models.graphs import MOST_ROWS, REACH
from specviz.models.memory import ModelCache
from specviz.models.network import TorchNetwork, network_of, prepare
from specviz.models.passes import CaptureSpec, PrecomputedPrefix
from specviz.models.small_parts import SmallParts, add_and_norm, gate, store
from specviz.models.target import Target
from specviz.verification.tree import DraftTree


def said(caplog):
    """Return our own messages: torch's compiler has many."""
    return [each.message for each in caplog.records if each.name.startswith("specviz")]


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


def test_evicted_model_is_freed_before_the_next_one_is_loaded():
    """Its network refers to its memory, and the memory to the network."""
    cache, weights = ModelCache(1), []

    def load():
        freed = [each() is None for each in weights]
        model = tiny.llama().to("cuda")
        prepare(model)
        weights.append(weakref.ref(model.model.embed_tokens))
        return model, freed

    with pretended():
        gc.disable()
        try:
            cache.get(("one",), load, shipped=False)
            _, freed = cache.get(("other",), load, shipped=False)
        finally:
            gc.enable()
    assert freed == [True]


def test_recordings_that_are_not_used_for_longest_are_dropped(monkeypatch):
    """Every temperature that a visitor tries has recordings of its own."""
    monkeypatch.setattr(graphs, "record_graph", imitate_graph)
    model = tiny.llama()
    setattr(model, NETWORK, build(model))
    run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
    memory = run.memory
    memory.recordings.clear()
    memory.kept.clear()
    monkeypatch.setattr(graphs, "MOST_RECORDINGS", 2)
    run.prefill([5, 6, 7])
    found = []
    for length in (2, 4, 2, 8, 4):  # the second use of 2 makes 4 the oldest
        run.score(DraftTree.chain(5, tuple(range(6, 5 + length))))
        run.keep([0])
        found.append([key[-1][0][-1] for key in memory.recordings])
        assert memory.kept.keys() == memory.recordings.keys()
    assert found == [[4, 2], [2, 4], [4, 2], [2, 8], [8, 4]]


def test_pass_of_the_target_is_one_upload_and_one_launch():
    """The other two launches copy the logits and check them for NaN."""
    with pretended() as device_log:
        model = tiny.llama().to("cuda")
        prepare(model)
        run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
        run.prefill([5, 6, 7])
        counted = []
        for early in (False, False, True, True):
            read = run.shallow([7, 9], [0, 1], TREE.mask()[:2, :2], 1) if early else None
            before = Counter(device_log.counts)
            run.score(TREE, precomputed=PrecomputedPrefix(1, read) if early else None)
            counted.append(device_log.counts - before)
            run.keep([0])
    plain, resumed = counted[1], counted[3]
    assert (plain["launches"], plain["uploads"], plain["waits"]) == (4, 1, 0)
    assert (resumed["launches"], resumed["uploads"]) == (5, 1), "and a copy of the first states"


def test_failed_recording_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(graphs, "record_graph", refuse_graph)
    model = tiny.llama()
    setattr(model, NETWORK, build(model))
    run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
    run.prefill([5, 6, 7])
    run.score(TREE)
    assert [words.split(":")[0] for words in said(caplog)] == [
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


class Streams:
    """Imitates torch.cuda: `graph` leaves its stream as the current one if a recording fails."""

    CUDAGraph = Mock

    def __init__(self):
        self.current, self.made, self.pools = Mock(), [], []

    def current_stream(self):
        return self.current

    def Stream(self, _device):
        self.made.append(Mock())
        return self.made[-1]

    def graph_pool_handle(self):
        self.pools.append((0, len(self.pools)))
        return self.pools[-1]

    @contextmanager
    def stream(self, stream):
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, _graph, pool, stream, mode):
        assert (pool, mode) == (self.pools[-1], "thread_local")
        before, self.current = self.current, stream
        yield
        self.current = before


def test_failed_recording_leaves_stream_and_memory_as_they_were(monkeypatch):
    cuda, seen, ended = Streams(), [], []
    usual = cuda.current
    monkeypatch.setattr(torch, "cuda", cuda)
    monkeypatch.setattr(graphs, "end_allocations", ended.append)
    graphs._recording_stream.cache_clear()

    def function(word):
        seen.append(cuda.current)
        if word == "fails" and len(seen) % 2 == 0:  # the first call is no recording
            raise RuntimeError("operation not permitted when stream is capturing")
        return (word,)

    try:
        assert graphs.record_graph(function, ["works"])[0] == ("works",)
        assert not ended
        with pytest.raises(RuntimeError, match="not permitted"):
            graphs.record_graph(function, ["fails"])
    finally:
        graphs._recording_stream.cache_clear()
    assert cuda.current is usual
    assert ended == cuda.pools[1:]
    assert seen == cuda.made * 4, "torch keeps memory for each stream"


def test_full_memory_drops_older_recordings_before_it_gives_up(monkeypatch, caplog):
    monkeypatch.setattr(graphs, "record_graph", imitate_graph)
    model = tiny.llama()
    setattr(model, NETWORK, build(model))
    run = Target(model, tiny.tokenizer(), tiny.target().card).start(CaptureSpec())
    run.prefill([5, 6, 7])
    full = []

    def record(function, inputs):
        if full and full.pop():
            raise torch.OutOfMemoryError
        return imitate_graph(function, inputs)

    monkeypatch.setattr(graphs, "record_graph", record)
    run.score(DraftTree.chain(5, (6, 7)))
    run.keep([0])
    full.append(True)
    run.score(DraftTree.chain(5, (6, 7, 8, 9, 10)))
    run.keep([0])
    assert len(run.memory.recordings) == len(run.memory.kept) == 1
    assert not said(caplog)
    full += [True, True]
    run.score(DraftTree((5,), (-1,)))
    assert len(said(caplog)) == 1


def test_each_model_is_compiled_for_one_row_and_once_for_all_numbers_of_rows(caplog):
    """Also beyond the eight versions of a function that torch compiles in a process."""
    graphs_seen = []

    def backend(graph, _inputs):
        graphs_seen.append(graph)
        return graph.forward

    with torch._dynamo.config.patch(recompile_limit=2), torch.inference_mode():
        for size in (8, 16, 32):
            for again in (False, True):
                parts = SmallParts(("counted", size), backend=backend)
                for count, reach in ((1, 32), (1, 64), (2, 32), (4, 32), (16, 64)):
                    rows, slots = torch.randn(count, size), torch.arange(count)
                    memory = torch.zeros(2, 3, 2, reach + 1, size)
                    turn = (torch.ones(count, 1, size),) * 2
                    parts.run(add_and_norm, rows, rows, torch.ones(size), 1e-5)
                    parts.run(gate, rows)
                    heads, kept = torch.randn(count, 8 * size), (memory[0, 1], memory[1, 1])
                    parts.run(store, heads, turn, (None, None), slots, kept, (4, 1e-5))
                assert len(graphs_seen) == 3 * 2, (size, again)
                assert parts.works
            graphs_seen.clear()
    assert not said(caplog)


def test_part_that_torch_would_run_uncompiled_is_logged(caplog):
    parts = SmallParts("logged", backend="eager")
    with torch._dynamo.config.patch(recompile_limit=2):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            parts.run(gate, torch.ones(2, 8, dtype=dtype))
    assert not parts.works
    assert len(said(caplog)) == 1


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_compiled_parts_give_the_logits_of_transformers(kind, monkeypatch, caplog):
    """With the compiler's first stage, which needs neither Triton nor a C++ compiler."""
    monkeypatch.setattr(graphs, "record_graph", refuse_graph)
    model, usual = varied(KINDS[kind]()), varied(KINDS[kind]())
    network = build(model)
    network.parts = SmallParts(kind, backend="aot_eager")
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
    assert not any("compiled" in words for words in said(caplog))


def test_parts_that_cannot_be_compiled_run_as_they_are(monkeypatch, caplog):
    def refuse(graph, inputs):
        raise RuntimeError("no compiler here")

    torch.compiler.reset()
    monkeypatch.setattr(graph_llama, "can_compile", lambda: True)
    monkeypatch.setattr(
        graph_llama, "SmallParts", lambda model=None: SmallParts(model, backend=refuse)
    )
    network = build(varied(KINDS["Llama"]()))
    assert network is not None
    assert network.description == "CUDA graphs"
    assert sum("not compiled from here on" in words for words in said(caplog)) == 1
    assert sum("other logits" in words for words in said(caplog)) == 0
