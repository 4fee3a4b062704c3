"""Runs on a CUDA device: exactness, traces and headers. Skipped if there is none."""

import pytest
import tiny
import torch

from specviz import engine
from specviz.catalog import load
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def record(pair, dtype, temperature, drafter=None):
    """A run of the tiny pair on the GPU."""
    target, draft = load(str(pair[0]), drafter or str(pair[1]), "cuda", dtype)
    settings = Settings(Sampling(temperature), max_new_tokens=40)
    events = engine.run(target, draft, tiny.PROMPT, settings)
    return Trace(next(events), list(events))


@pytest.mark.parametrize("drafter", [None, "ngram"])
def test_greedy_text_on_gpu_equals_plain_decoding(pair, drafter):
    trace = record(pair, "float32", 0, drafter)
    found = baseline_difference(trace)
    assert found is None or found.near_tie
    assert len(token_ids(trace)) == len(trace.baseline.token_ids)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_trace_of_a_gpu_run_passes_check_in_every_precision(pair, dtype, temperature):
    trace = record(pair, dtype, temperature)
    check(Trace.parse(trace.lines()))
    assert trace.header.dtype == dtype


def test_trace_header_names_the_gpu_and_both_models_are_on_it(pair):
    header = record(pair, None, 0.8).header
    assert "cuda" in header.device
    assert header.dtype in ("bfloat16", "float16")
    target, drafter = load(str(pair[0]), str(pair[1]), "cuda")
    assert target.device.type == drafter.model.device.type == "cuda"
    assert target.model.dtype == drafter.model.dtype
