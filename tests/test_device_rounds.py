"""Runs on a simulated GPU: no mixed devices, the run of the CPU, known counts.

The shipped counts are the reference, so a new synchronisation in a round fails here. After an
intended change, `PYTHONPATH=. python tests/counted.py` writes them again. The simulation obeys a
GPU's rules: what CUDA refuses, and where the host waits.
"""

from __future__ import annotations

import gc
import inspect
import json
import textwrap
from dataclasses import replace
from itertools import zip_longest
from unittest.mock import patch

import counted
import pytest
import tiny
import torch
from pretend import DEVICE, imitate_graph, pretended, refuse_graph

from specviz.catalog import load, loading
from specviz.drafters.common import candidates as siblings
from specviz.drafters.common import head_cache
from specviz.drafters.common.dynamic_tree import (
    DeviceTree,
    DynamicTree,
    rank_tokens,
    replay,
)
from specviz.drafters.common.layers import masked
from specviz.drafters.contract.harness import rounds_of, run_trace, summarize
from specviz.drafters.uniform import UniformSession
from specviz.engine import decode, run_stepwise
from specviz.engine.loop import Decoding
from specviz.models import graph_llama, graphs, network
from specviz.models.graphs import MOST_ROWS
from specviz.models.memory import ModelCache
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.metrics import token_ids
from specviz.ui.request import RunRequest
from specviz.ui.task import Machine
from specviz.ui.worker import rehearse
from specviz.verification import distributions
from specviz.verification.distributions import BadScores
from specviz.verification.transfer import UploadBatch, to_host, to_host_async, upload_together

SHIPPED = json.loads(counted.PLACE.read_text(encoding="utf-8"))
ROWS = {(row["drafter"], row["temperature"]): row for row in SHIPPED["rows"]}
SAME_VERSIONS = SHIPPED["versions"] == counted.depends_on()


def pinned(row):
    return row if SAME_VERSIONS else {k: v for k, v in row.items() if k != "launches"}


# Each drafter at one temperature, alternating, unless another one has the same sessions; the rest
# in the nightly tier.
LIKE_OTHERS = {"blockwise", "lmtp", "suffix", "oracle"}
CASES = [
    pytest.param(
        name,
        counted.TEMPERATURES[(n + tier) % 2],
        marks=pytest.mark.nightly if tier or name in LIKE_OTHERS else (),
    )
    for n, name in enumerate(counted.DRAFTERS)
    for tier in (0, 1)
]


@pytest.mark.slow
@pytest.mark.parametrize(("drafter", "temperature"), CASES)
def test_run_on_simulated_gpu_equals_cpu_run_with_the_recorded_reads(drafter, temperature):
    with counted.gpu() as device_log:
        row, told = counted.row(drafter, temperature, device_log)
    target, made = load("house", drafter, "cpu")
    ids = target.encode(counted.PROMPT, counted.NEW)
    assert told == summarize(
        rounds_of(target, made, ids, counted.counted_settings(drafter, temperature))
    )
    assert pinned(row) == pinned(ROWS[drafter, temperature])


HEADS = ["eagle", "medusa", "mtp", "lmtp", "moa", "dspark", "dflash2", "jetspec"]
RECORDED = ["draft-model", "pard", *HEADS]


# By default, DSpark for DFlash2, and without graphs only drafters whose passes the others share.
BY_DEFAULT = {True: {*RECORDED} - {"dflash2", "medusa"}, False: {"draft-model", "dspark"}}
TURNS = [
    pytest.param(name, works, marks=[] if name in BY_DEFAULT[works] else pytest.mark.nightly)
    for works in (True, False)
    for name in RECORDED
]


def numbers_in(data):
    """Yield the numbers in evidence, among them the candidates that the page shows.

    Passes are left out: a recorded draft also makes those that turn out not to be needed.
    """
    if isinstance(data, dict):
        data = [each for key, each in data.items() if key != "passes"]
    if isinstance(data, (int, float)):
        yield data
    elif not isinstance(data, str):
        for each in data or ():
            yield from numbers_in(each)


SMALL_MEMORY = {True: (ModelCache(), ModelCache()), False: (ModelCache(), ModelCache())}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "works"), TURNS)
def test_drafts_of_runs_in_turns_and_past_the_first_memory_equal_the_cpu(name, works, monkeypatch):
    """Two runs take turns, with texts whose rows leave the smallest memory at different times."""
    for module in (graphs, head_cache, graph_llama):
        monkeypatch.setattr(module, "REACH", 32)
    settings = replace(counted.counted_settings(name, 0.8), max_new_tokens=10)

    def proposals(device):
        target, made = load("house", name, device, "float32")
        texts = [target.encode(counted.PROMPT + more, counted.NEW) for more in ("", " was sad.")]
        runs = [Decoding(target, made, ids, settings).rounds() for ids in texts]
        return [
            (one.proposal.tree, one.tokens, [*numbers_in(one.proposal.evidence)])
            for pair in zip_longest(*runs)
            for one in filter(None, pair)
        ]

    with (
        pretended(),
        patch.object(loading, "MODELS", SMALL_MEMORY[works][0]),
        patch.object(loading, "HEADS", SMALL_MEMORY[works][1]),
    ):
        if not works:
            monkeypatch.setattr(graphs, "record_graph", refuse_graph)
        there = proposals("cuda")
    for (*made, evidence), (*usual, own) in zip(there, proposals("cpu"), strict=True):
        assert made == usual
        assert evidence == pytest.approx(own, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jetspec", "medusa"])
def test_recorded_tree_of_one_pass_belongs_to_its_depth_and_number_of_candidates(name):
    widths = []
    with counted.gpu():
        target, made = load("house", name, "cuda", "float32")
        ids = target.encode(counted.PROMPT, counted.NEW)
        for new_tokens, wanted in ((4, 3), (6, 3), (6, 5)):
            usual = replace(counted.counted_settings(name, 0.0), max_new_tokens=new_tokens)
            settings = replace(usual, fan_out=wanted, siblings=[wanted], rank_paths=[])
            for one in Decoding(target, made, ids, settings).rounds():
                parents = one.proposal.tree.parents if one.proposal else ()
                widths += [(wanted, parents.count(0))] if 0 in parents else []
            gc.collect()  # the memory, with its recordings, goes to the next run
    assert {wanted for wanted, _ in widths} == {3, 5}
    assert all(wanted == width for wanted, width in widths)


# Settings that change what one recorded pass computes, while its inputs keep their shapes.
VARIED = {
    "layerskip": [{"exit_layer": layer} for layer in (2, 4)],
    "pard": [{"confidence": 0.01, "gamma": gamma} for gamma in (2, 5)],
    "dflash2": [{"confidence": 0.01, "gamma": gamma} for gamma in (2, 5)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIED)
def test_settings_that_change_a_pass_have_recordings_of_their_own(name):
    usual = replace(counted.counted_settings(name, 0.8), max_new_tokens=8)

    def told(device):
        target, made = load("house", name, device, "float32")
        ids, found = target.encode(counted.PROMPT, counted.NEW), []
        for changes in VARIED[name]:
            found.append(summarize(rounds_of(target, made, ids, replace(usual, **changes))))
            gc.collect()  # the memory, with its recordings, goes to the next run
        return found

    with counted.gpu():
        there = told("cuda")
    assert there == told("cpu")


@pytest.mark.slow
def test_no_graph_is_recorded_while_clocks_run(monkeypatch):
    """The text outgrows the smallest memory, and plain decoding follows the run."""
    for module in (graphs, head_cache, graph_llama):
        monkeypatch.setattr(module, "REACH", 32)
    settings = replace(counted.counted_settings("draft-model", 0.8), max_new_tokens=6)
    recorded = []

    def counting(function, inputs):
        recorded.append(inputs[0].shape)
        return imitate_graph(function, inputs)

    with (
        pretended(),
        patch.object(loading, "MODELS", ModelCache()),
        patch.object(loading, "HEADS", ModelCache()),
        patch.object(graphs, "record_graph", counting),
    ):
        target, made = load("house", "draft-model", "cuda", "float32")
        events = run_stepwise(target, made, counted.PROMPT * 6, settings)
        next(events)
        in_warm_up = len(recorded)
        assert len(list(events)) > 6
    assert len(recorded) == in_warm_up > 0


@pytest.mark.slow
def test_first_draft_of_a_long_prompt_is_not_recorded():
    """Each length of a prompt would need a recording of its own."""
    with counted.gpu():
        target, made = load("house", "draft-model", "cuda", "float32")
        ids = target.encode(counted.PROMPT * 6, counted.NEW)
        assert len(ids) > MOST_ROWS
        session = made.begin(target.start(made.capture), Settings())
        recorded = [set(session.memory.recordings)]
        for text in (ids, [*ids, 5]):
            assert len(session.propose(text, 3, Chance(0, 1)).tree) == 3
            recorded.append(set(session.memory.recordings))
    assert recorded[0] == recorded[1] < recorded[2]


@pytest.mark.slow
def test_server_records_the_graphs_of_the_first_run_at_its_start(monkeypatch, caplog):
    """Warming up before timing changes no run."""
    prefill, prompts = TargetRun.prefill, []
    settings = replace(counted.counted_settings("eagle3", 0.8), max_new_tokens=5)
    with (
        pretended(),
        patch.object(loading, "MODELS", ModelCache()),
        patch.object(loading, "HEADS", ModelCache()),
    ):
        rehearse(Machine("cuda"), RunRequest(counted.PROMPT, "house", "eagle3", settings))
        monkeypatch.setattr(graphs, "record_graph", refuse_graph)  # which would be logged
        monkeypatch.setattr(
            TargetRun, "prefill", lambda run, ids: prompts.append(ids) or prefill(run, ids)
        )
        there = run_trace(*load("house", "eagle3", "cuda"), counted.PROMPT, settings)
    assert not caplog.records
    assert len(prompts) == 4, "the drafter and plain decoding each warm up once"
    here = run_trace(*load("house", "eagle3", "cpu"), counted.PROMPT, settings)
    assert len(prompts) == 6
    assert token_ids(there) == token_ids(here)


@pytest.mark.slow
def test_plain_decoding_makes_the_recorded_number_of_device_reads():
    for temperature in counted.TEMPERATURES:
        with counted.gpu() as device_log:
            row = counted.plain_row(temperature, device_log)
        assert pinned(row) == pinned(ROWS[counted.PLAIN, temperature])
    names = {counted.PLAIN, *counted.DRAFTERS}
    assert set(ROWS) == {(name, t) for name in names for t in counted.TEMPERATURES}
    assert all(row["rounds"] > 0 for row in ROWS.values())


@pytest.mark.slow
def test_weights_are_loaded_once_and_in_float32_only_if_small(pair):
    big, small = map(str, pair)
    with counted.gpu():
        target, drafter = load(big, big, "cuda", "float32")
        assert drafter.model is target.model
        assert load(big, "ngram", "cuda:0", "float32")[0].model is target.model
        assert load("house", "ngram", "cuda")[0].dtype is torch.float32
        assert load("house", "ngram", "cuda", "bfloat16")[0].dtype is torch.bfloat16
        assert load(big, small, "cuda")[0].dtype is torch.bfloat16


@pytest.mark.slow
def test_every_rule_gives_the_same_verdicts_on_device_and_cpu(pair):
    def kept(device):
        target, drafter = load(str(pair[0]), str(pair[1]), device, "float32")
        settings = Settings(Sampling(1.1), max_new_tokens=8, gamma=3)
        ids = target.encode(tiny.PROMPT, 8)
        return {
            rule: summarize(rounds_of(target, drafter, ids, replace(settings, rule=rule)))
            for rule in ("k-seq", "lenience", "typical", "relaxed", "thresholds")
        }

    with counted.gpu():
        told = kept("cuda")
    assert told == kept("cpu")


# The simulation itself, and transfers between host and device.


@pytest.fixture
def gpu():
    with pretended() as device_log:
        yield device_log


def test_simulated_gpu_refuses_operands_on_two_devices_as_cuda_does(gpu):
    here, host = torch.ones(3, device="cuda"), torch.ones(3)
    assert here.device == (here * 2)[:1].device == host.to("cuda:0").device == DEVICE
    assert here.cpu().device == host.device == torch.device("cpu")
    for op in (torch.add, torch.matmul, torch.minimum):
        with pytest.raises(RuntimeError, match="same device"):
            op(here, host)
    with pytest.raises(RuntimeError, match="same device"):
        host[torch.tensor([0], device="cuda")]
    with pytest.raises(TypeError, match="numpy"):
        here.numpy()
    here[1] = 0.0
    here[[0]] = 3.0
    assert (here * torch.tensor(2.0)).tolist() == [6.0, 0.0, 2.0]  # scalars may be on the host


def test_batched_reads_synchronize_once_and_asynchronous_copies_never(gpu):
    top = torch.tensor([[0.1, 0.3], [1e-300, -torch.inf]], dtype=torch.float64).to("cuda")
    few, ids = torch.rand(3).to("cuda"), torch.tensor([2**40 + 1, 0]).to("cuda")
    gpu.counts.clear()
    found = to_host(top, few, ids)
    assert gpu.counts["waits"] == 1
    for one, other in zip(found, (top, few, ids), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    reads = gpu.counts["reads"]
    copy = to_host_async(few * 2)
    assert gpu.counts["reads"] == reads
    assert copy.isnan().all(), "an asynchronous copy must not be complete before a wait"
    few.sum().item()
    assert copy.tolist() == (few * 2).tolist()


def test_batched_uploads_count_as_one_upload(gpu):
    made = [
        torch.tensor([[2**40 + 1, 0]]),
        torch.tensor([[True], [False], [True]]),
        torch.tensor([0.1, 1e-300], dtype=torch.float64),
        torch.rand(3, 5, dtype=torch.bfloat16),
    ]
    gpu.counts.clear()
    there = upload_together(DEVICE, *made)
    assert (gpu.counts["uploads"], gpu.counts["waits"]) == (1, 0)
    for one, other in zip(there, made, strict=True):
        assert one.device == DEVICE
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("keys", [1, 7, 8, 9, 130])
def test_uploaded_mask_rows_are_aligned_for_attention(gpu, keys):
    mask = torch.rand(1, 1, 3, keys, dtype=torch.bfloat16)
    _, there = upload_together(DEVICE, torch.tensor([[1, 2, 3]]), mask)
    assert all(
        step % 8 == 0 for step in there.stride()[:-1]
    )  # as ATen's `preprocess_mask` requires
    assert there.stride(-1) == 1
    assert there.tolist() == mask.tolist()


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seen", [None, torch.rand(5, 7) < 0.6, torch.rand(1, 7) < 0.6])
def test_heads_that_share_keys_attend_on_a_device_as_on_the_cpu(gpu, groups, seen):
    queries, keys, values = torch.randn(2, 2 * groups, 5, 4), *torch.randn(2, 2, 2, 7, 4)
    there = masked(None if seen is None else seen.to("cuda"))(
        queries.to("cuda"), keys.to("cuda"), values.to("cuda")
    )
    assert torch.allclose(there.cpu(), masked(seen)(queries, keys, values), atol=1e-6)


# Mistakes that leave a tensor on the host: the function, its source text, the wrong text, and a
# drafter and a temperature whose run executes it.
SLIPS = [
    (TargetRun, "_pass", "self.target.device", "torch.device('cpu')", "ngram", 0.8),
    (UploadBatch, "_upload", "self._device", "torch.device('cpu')", "eagle", 0.8),
    (siblings, "_draw_ranks", "values.device", "torch.device('cpu')", "eagle", 0.8),
    (distributions, "logits_to_probs", ", device=logits.device", "", "ngram", 0.0),
    (UniformSession, "__init__", ", device=device", "", "uniform", 0.8),
]


def slipped(owner, name, old, new):
    """Return the function with one change to its source."""
    function = inspect.unwrap(getattr(owner, name))
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) >= 1
    if isinstance(owner, type):  # outside its class, super() needs arguments
        source = source.replace("super()", f"super({owner.__name__}, self)")
    found = {}
    exec(source.replace(old, new), function.__globals__, found)  # noqa: S102
    return found[name]


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip[0].__name__}.{slip[1]}")
def test_simulated_gpu_detects_a_tensor_left_on_the_host(monkeypatch, slip):
    owner, name, old, new, drafter, temperature = slip
    for module in (decode, head_cache, network):  # a recording that fails is not an error
        monkeypatch.setattr(module, "uses_graphs", lambda _device: False)
    monkeypatch.setattr(counted, "SHELVES", (ModelCache(), ModelCache()))
    changed = slipped(owner, name, old, new)
    monkeypatch.setattr(owner, name, changed)
    if owner is distributions:
        monkeypatch.setattr("specviz.engine.judging.logits_to_probs", changed)
    with counted.gpu() as device_log, pytest.raises(RuntimeError, match="same device"):
        counted.row(drafter, temperature, device_log)


# The nodes that the device selects for expansion equal those that `DynamicTree` selects.

TOKENS, WIDTH, DEEPEST = 7, 3, 4


def logits_after(path, seed):
    """Return logits after a path: integers, so that scores tie, with some tokens forbidden."""
    made = torch.Generator().manual_seed(hash((seed, *path)) % 2**31)
    logits = torch.randint(0, 4, (TOKENS,), generator=made).float()
    return logits.masked_fill(torch.rand(TOKENS, generator=made) < 0.2, -torch.inf)


def seen(seed, budget, ends):
    """Build a tree with a read after every level."""
    growth, paths = DynamicTree([0]), {0: ()}
    for level in growth.levels(DEEPEST, WIDTH, budget, ends):
        first = len(growth.tokens)
        logits = torch.stack([logits_after(paths[n], seed) for n in level])
        growth.add(level, *rank_tokens(logits, WIDTH, "it"))
        for node in range(first, len(growth.tokens)):
            paths[node] = (*paths[growth.parents[node]], growth.tokens[node])
    return growth


def unseen(seed, budget, ends, spoiled=None):
    """Build the same tree with one read at the end. spoiled: a level whose scores are NaN."""
    growth, picking, paths = DynamicTree([0]), DeviceTree(WIDTH, torch.tensor(ends)), [()]
    for depth in range(DEEPEST):
        if depth:
            words, above = (each.tolist() for each in picking.pick())
            paths = [(*paths[row], word) for word, row in zip(words, above, strict=True)]
        logits = torch.stack([logits_after(path, seed) for path in paths])
        picking.guess(logits * torch.nan if depth == spoiled else logits)
    replay(growth, picking.tensors, growth.levels(DEEPEST, WIDTH, budget, ends), "it")
    return growth


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(), (1,), (1, 2, 4), (0, 1, 2, 3, 5)])
def test_device_tree_equals_host_tree(ends):
    for seed in range(40):
        for budget in (2, 5, 9, 60):
            one, other = unseen(seed, budget, ends), seen(seed, budget, ends)
            assert (one.tokens, one.parents) == (other.tokens, other.parents)
            assert one.totals == other.totals


def test_nan_scores_raise_only_when_their_level_is_used():
    for spoiled in range(DEEPEST):
        with pytest.raises(BadScores, match="it returned logits"):
            unseen(3, 60, (), spoiled)
    lone = [seed for seed in range(40) if len(seen(seed, 60, range(TOKENS)).tokens) <= WIDTH + 1]
    assert lone, "all end at once"
    assert (
        unseen(lone[0], 60, range(TOKENS), spoiled=2).tokens
        == seen(lone[0], 60, range(TOKENS)).tokens
    )
