"""Runs on a CUDA device: exactness, traces, headers and graphs. Skipped if there is none.

`tests/test_graph_passes.py` and `tests/test_device_rounds.py` test the same code without a GPU.
"""

from __future__ import annotations

from itertools import zip_longest

import counted
import pytest
import tiny
import torch

from specviz import engine
from specviz.catalog import load
from specviz.catalog.entry import with_defaults
from specviz.drafters.contract import Case
from specviz.drafters.contract.checks import tokens_follow_target_distribution
from specviz.models.graph_llama import GraphLlama
from specviz.models.graphs import Recorder
from specviz.models.network import TorchNetwork, network_of
from specviz.models.passes import CaptureSpec
from specviz.models.small_parts import can_compile
from specviz.models.target import TargetRun
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids
from specviz.verification.tree import DraftTree

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

PROMPT = "Once upon a time there was a little girl called Lily. She"
TREE = DraftTree((7, 9, 11, 13, 15, 17), (-1, 0, 0, 1, 1, 3))


def start(target, drafter, name, temperature, prompt=PROMPT):
    given = {"max_new_tokens": 64, "sampling": {"temperature": temperature}}
    return engine.run(target, drafter, prompt, Settings.from_json(with_defaults(name, given)))


def record(*run):
    header, *events = start(*run)
    return Trace(header, events)


@pytest.mark.parametrize("drafter", counted.DRAFTERS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_greedy_texts_equal_generate_and_every_trace_passes_check(drafter, dtype):
    target, made = load("house", drafter, "cuda", dtype)
    assert isinstance(network_of(target.model), GraphLlama)
    trace = record(target, made, drafter, 0.0)
    check(Trace.parse(trace.lines()))
    ids = torch.tensor([target.encode(PROMPT, 64)], device="cuda")
    whole = target.model.generate(ids, do_sample=False, max_new_tokens=64, use_cache=True)
    found = token_ids(trace)
    assert found == whole[0, ids.shape[1] :].tolist()[: len(found)]
    check(Trace.parse(record(target, made, drafter, 0.8).lines()))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_graphs_give_the_logits_of_transformers(dtype):
    target, _ = load("house", "ngram", "cuda", dtype)
    capture = CaptureSpec(layers=(1, 3), final=True, keys_values=(2,))
    for ids in (list(range(3, 60)), [5] * 700):
        runs = [TargetRun(target, capture) for _ in range(2)]
        runs[1].network = TorchNetwork(target.model)
        for run in runs:
            run.prefill(ids)
        for tree in (DraftTree((5,), (-1,)), TREE, TREE, DraftTree.chain(8, (9, 10, 11))):
            one, other = (run.score(tree) for run in runs)
            for a, b in [(one.logits, other.logits), (one.states.final, other.states.final)]:
                error = (a - b).float().norm() / b.float().norm()
                assert error < (1e-4 if dtype == "float32" else 3e-2), error
            for run in runs:
                run.keep([0])
    assert network_of(target.model)._recorder.works


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(
    "drafter", ["draft-model", "pard", "eagle", "eagle3", "medusa", "mtp", "lmtp", "moa", "dspark"]
)
def test_recorded_drafts_give_the_runs_of_drafts_without_graphs(drafter, temperature, monkeypatch):
    """The text grows out of the smallest memory during the run."""
    run = *load("house", drafter, "cuda", "float32"), drafter, temperature, PROMPT * 38
    found = [token_ids(record(*run)) for _ in range(2)]
    monkeypatch.setattr(Recorder, "works", False)
    assert found == [token_ids(record(*run))] * 2


@pytest.mark.parametrize("drafter", ["draft-model", "mtp", "dspark"])
def test_sampled_texts_follow_the_distribution_of_the_target(drafter):
    target, made = load("house", drafter, "cuda", "float32")
    shape = Settings.from_json(with_defaults(drafter, {}))
    prompts = [PROMPT, "One day a dog"]
    tokens_follow_target_distribution(Case(lambda: target, lambda _: made, prompts, [shape]))


@pytest.mark.parametrize("drafter", [None, "ngram"])
@pytest.mark.parametrize("dtype", [None, "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_runs_of_any_checkpoint_pass_check_and_greedy_text_is_plain(
    pair, dtype, temperature, drafter
):
    target, draft = load(str(pair[0]), drafter or str(pair[1]), "cuda", dtype)
    assert target.device.type == "cuda"
    assert drafter or target.model.dtype == draft.model.dtype
    assert drafter or draft.model.device.type == "cuda"
    settings = Settings(Sampling(temperature), max_new_tokens=40)
    header, *events = engine.run(target, draft, tiny.PROMPT, settings)
    trace = Trace(header, events)
    check(Trace.parse(trace.lines()))
    assert "cuda" in header.device
    assert header.packing == ("CUDA graphs, compiled" if can_compile() else "CUDA graphs")
    assert header.dtype in ((dtype,) if dtype else ("bfloat16", "float16"))
    if temperature == 0 and dtype == "float32":
        found = baseline_difference(trace)
        assert found is None or found.near_tie
        assert len(token_ids(trace)) == len(trace.baseline.token_ids)


def test_stopped_run_leaves_memory_and_graphs_in_order():
    run = *load("house", "eagle3", "cuda", "float32"), "eagle3", 0.0
    whole = token_ids(record(*run))
    events = start(*run)
    for _ in range(9):
        next(events)
    events.close()
    assert token_ids(record(*run)) == whole


def test_two_runs_in_turns_do_not_disturb_each_other():
    run = *load("house", "eagle3", "cuda", "float32"), "eagle3", 0.0
    whole = token_ids(record(*run))
    pairs = zip_longest(start(*run), start(*run))
    for events in zip(*pairs, strict=True):
        header, *rest = filter(None, events)
        assert token_ids(Trace(header, rest)) == whole
