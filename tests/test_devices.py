"""Devices and precisions: selection, names, and refusals."""

import pytest
import torch

from specviz.models import devices

CPU = torch.device("cpu")


def here(monkeypatch, cuda=0, mps=False):
    """Pretend that this machine has these devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(0, False, "cpu"), (0, True, "mps:0"), (2, False, "cuda:0")]
)
def test_best_available_device_is_selected(monkeypatch, cuda, mps, best):
    here(monkeypatch, cuda, mps)
    assert devices.pick_device() == torch.device(best)


def test_requested_device_is_used_if_present(monkeypatch):
    here(monkeypatch, cuda=2)
    assert devices.pick_device("cpu") == CPU
    assert devices.pick_device("cuda:1") == torch.device("cuda", 1)


def test_device_name_equals_the_name_that_its_tensors_report(monkeypatch):
    here(monkeypatch, cuda=2, mps=True)
    assert str(devices.pick_device("cuda")) == str(devices.pick_device("cuda:0")) == "cuda:0"
    assert str(devices.pick_device("mps")) == "mps:0"


def test_cudnn_attention_is_disabled_on_cuda(monkeypatch):
    here(monkeypatch, cuda=1)
    torch.backends.cuda.enable_cudnn_sdp(True)
    devices.pick_device("cpu")
    assert torch.backends.cuda.cudnn_sdp_enabled()
    devices.pick_device("cuda")
    assert not torch.backends.cuda.cudnn_sdp_enabled()


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps"])
def test_missing_device_raises_readable_error(monkeypatch, name):
    here(monkeypatch)
    with pytest.raises(ValueError, match=f"no device '{name}'; it has cpu"):
        devices.pick_device(name)


def test_device_index_beyond_the_last_gpu_is_refused(monkeypatch):
    here(monkeypatch, cuda=1)
    with pytest.raises(ValueError, match="cuda:1"):
        devices.pick_device("cuda:1")


@pytest.mark.parametrize("name", ["", "tpu", "meta", "cuda:x", "cuda:-1", "CPU"])
def test_unknown_device_name_raises_readable_error(name):
    with pytest.raises(ValueError, match="No device is called"):
        devices.pick_device(name)


def test_cpu_uses_float32_by_default():
    assert devices.pick_dtype(CPU) is torch.float32
    assert devices.pick_dtype(CPU, "bfloat16") is torch.bfloat16


@pytest.mark.parametrize("name", ["int8", "float64", "Tensor", ""])
def test_unknown_dtype_raises_readable_error(name):
    with pytest.raises(ValueError, match="No dtype is called"):
        devices.pick_dtype(CPU, name)


def test_cpu_description_counts_usable_cores(monkeypatch):
    monkeypatch.setattr(devices, "usable_cores", lambda: 1)
    assert devices.describe_device(CPU) == "1 CPU core"
    monkeypatch.setattr(devices, "usable_cores", lambda: 8)
    assert devices.describe_device(CPU) == "8 CPU cores"


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
