"""Devices and precisions: selection, names, and refusals."""

from __future__ import annotations

import pytest
import tiny
import torch

from specviz import engine
from specviz.catalog import load
from specviz.models import devices
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids

CPU = torch.device("cpu")


def here(monkeypatch, cuda=0, mps=False):
    """Pretend that this machine has these devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "found"),
    [
        (0, False, None, "cpu"), (0, True, None, "mps:0"), (2, False, None, "cuda:0"),
        (2, True, "cpu", "cpu"), (2, True, "cuda:1", "cuda:1"), (2, True, "cuda", "cuda:0"),
        (2, True, "mps", "mps:0"),
    ],
)  # fmt: skip
def test_best_or_requested_device_is_selected(monkeypatch, cuda, mps, asked, found):
    here(monkeypatch, cuda, mps)
    assert str(devices.pick_device(asked) if asked else devices.pick_device()) == found


def test_cudnn_attention_is_disabled_on_cuda(monkeypatch):
    here(monkeypatch, cuda=1)
    torch.backends.cuda.enable_cudnn_sdp(True)
    devices.pick_device("cpu")
    assert torch.backends.cuda.cudnn_sdp_enabled()
    devices.pick_device("cuda")
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_missing_or_unknown_device_or_dtype_raises_readable_error(monkeypatch):
    for number, name, sentence in (
        *((0, name, f"no device '{name}'; it has cpu") for name in ("cuda", "cuda:0", "mps")),
        (1, "cuda:1", "cuda:1"),
        *((1, name, "No device is called") for name in ("", "tpu", "meta", "cuda:x", "cuda:-1")),
        (1, "CPU", "No device is called"),
    ):
        here(monkeypatch, cuda=number)
        with pytest.raises(ValueError, match=sentence):
            devices.pick_device(name)
    for name in ("int8", "float64", "Tensor", ""):
        with pytest.raises(ValueError, match="No dtype is called"):
            devices.pick_dtype(CPU, name)


def test_out_of_memory_is_distinguished_from_other_errors():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert devices.ran_out_of_memory(caught.value)
    assert devices.ran_out_of_memory(MemoryError())
    assert devices.ran_out_of_memory(torch.OutOfMemoryError("CUDA"))
    assert not devices.ran_out_of_memory(RuntimeError("shapes do not match"))
    assert not devices.ran_out_of_memory(ValueError("out of memory"))


def test_cpu_name_is_read_from_cpuinfo(tmp_path):
    listed = tmp_path / "cpuinfo"
    assert devices.cpu_name(listed)
    listed.write_text("processor\t: 0\nmodel name\t: A  Fast One\nmodel name\t: A  Fast One\n")
    assert devices.cpu_name(listed) == "A Fast One"


# On a CUDA device: exactness, traces and headers. Skipped if there is none.

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def record(pair, dtype, temperature, drafter=None):
    target, draft = load(str(pair[0]), drafter or str(pair[1]), "cuda", dtype)
    settings = Settings(Sampling(temperature), max_new_tokens=40)
    events = engine.run(target, draft, tiny.PROMPT, settings)
    return Trace(next(events), list(events))


@needs_gpu
@pytest.mark.gpu
@pytest.mark.parametrize("drafter", [None, "ngram"])
def test_greedy_text_on_gpu_equals_plain_decoding(pair, drafter):
    trace = record(pair, "float32", 0, drafter)
    found = baseline_difference(trace)
    assert found is None or found.near_tie
    assert len(token_ids(trace)) == len(trace.baseline.token_ids)


@needs_gpu
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_trace_of_a_gpu_run_passes_check_in_every_precision(pair, dtype, temperature):
    trace = record(pair, dtype, temperature)
    check(Trace.parse(trace.lines()))
    assert trace.header.dtype == dtype


@needs_gpu
@pytest.mark.gpu
def test_trace_header_names_the_gpu_and_both_models_are_on_it(pair):
    header = record(pair, None, 0.8).header
    assert "cuda" in header.device
    assert header.dtype in ("bfloat16", "float16")
    target, drafter = load(str(pair[0]), str(pair[1]), "cuda")
    assert target.device.type == drafter.model.device.type == "cuda"
    assert target.model.dtype == drafter.model.dtype
