"""The simulated GPU obeys a GPU's rules: what CUDA refuses, and where the host waits."""

from __future__ import annotations

import inspect
import textwrap

import counted
import pytest
import torch
from pretend import DEVICE, Cuda, pretended

from specviz.drafters.common import candidates as siblings
from specviz.drafters.uniform import UniformSession
from specviz.models.target import TargetRun
from specviz.verification import distributions
from specviz.verification.transfer import UploadBatch, to_host, to_host_async, upload_together


@pytest.fixture
def gpu():
    with pretended() as device_log:
        yield device_log


def test_simulated_gpu_keeps_results_on_the_device_of_their_inputs(gpu):
    here = torch.ones(3, device="cuda")
    assert here.device == (here * 2)[:1].device == torch.zeros(1).to("cuda:0").device == DEVICE
    assert here.cpu().device == torch.zeros(1).device == torch.device("cpu")
    assert here.is_cuda
    assert not here.cpu().is_cuda


def test_simulated_gpu_refuses_operands_on_two_devices(gpu):
    here, host = torch.ones(3, device="cuda"), torch.ones(3)
    for op in (torch.add, torch.matmul, torch.minimum):
        with pytest.raises(RuntimeError, match="same device"):
            op(here, host)
    with pytest.raises(RuntimeError, match="same device"):
        host[torch.tensor([0], device="cuda")]
    with pytest.raises(TypeError, match="numpy"):
        here.numpy()
    assert (here * torch.tensor(2.0)).tolist() == [2.0] * 3  # CUDA accepts scalars of the host
    here[1] = 0.0
    here[[0]] = 3.0
    assert here.tolist() == [3.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("ask", "reads", "uploads", "waits"),
    [
        (lambda x: x.sum().item(), 1, 0, 1),
        (lambda x: bool((x > 0).all()), 1, 0, 1),
        (lambda x: x.tolist(), 1, 0, 1),
        (lambda x: x.cpu(), 1, 0, 1),
        (lambda x: x[x > 0], 1, 0, 1),
        (lambda x: x.nonzero(), 1, 0, 1),
        (lambda x: x[[0, 1]], 0, 1, 1),
        (lambda x: torch.tensor([1], device=x.device), 0, 1, 1),
        (lambda x: torch.ones(1).to(x.device), 0, 1, 1),
        (lambda x: torch.ones(1).to(x.device, non_blocking=True), 0, 1, 0),
        (lambda x: torch.ones(1, device=x.device) + x.softmax(-1).topk(2).values[1:], 0, 0, 0),
    ],
)
def test_simulated_gpu_counts_reads_uploads_and_waits(gpu, ask, reads, uploads, waits):
    here = torch.ones(3, device="cuda")
    gpu.counts.clear()
    ask(here)
    assert [gpu.counts[kind] for kind in ("reads", "uploads", "waits")] == [reads, uploads, waits]


def test_batched_reads_synchronize_once(gpu):
    top = torch.tensor([[0.1, 0.3], [1e-300, -torch.inf]], dtype=torch.float64).to("cuda")
    few, ids = torch.rand(3).to("cuda"), torch.tensor([2**40 + 1, 0]).to("cuda")
    gpu.counts.clear()
    found = to_host(top, few, ids)
    assert gpu.counts["waits"] == 1
    for one, other in zip(found, (top, few, ids), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


def test_asynchronous_copy_is_complete_after_a_later_read(gpu):
    here = torch.tensor([1.5, -2.0]).to("cuda")
    copy = to_host_async(here * 2)
    assert gpu.counts["reads"] == 0
    assert copy.isnan().all(), "the copy must not be complete before a wait"
    here.sum().item()
    assert copy.tolist() == [3.0, -4.0]


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


def test_simulated_gpu_is_removed_afterwards():
    with pretended():
        assert torch.cuda.is_available()
    assert not isinstance(torch.ones(1) + 1, Cuda)
    with pytest.raises((RuntimeError, AssertionError)):
        torch.ones(1, device="cuda")


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
    found = {}
    exec(source.replace(old, new), function.__globals__, found)  # noqa: S102
    return found[name]


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip[0].__name__}.{slip[1]}")
def test_simulated_gpu_detects_a_tensor_left_on_the_host(monkeypatch, slip):
    owner, name, old, new, drafter, temperature = slip
    changed = slipped(owner, name, old, new)
    monkeypatch.setattr(owner, name, changed)
    if owner is distributions:
        monkeypatch.setattr("specviz.engine.loop.logits_to_probs", changed)
    with counted.gpu() as device_log, pytest.raises(RuntimeError, match="same device"):
        counted.row(drafter, temperature, device_log)
