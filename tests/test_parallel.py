"""Threads, devices, and a target split over two processes: the same text, printed once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
import torch

from specviz.commands.cli import main
from specviz.models import devices, products, threads
from specviz.models import target as target_module
from specviz.models.devices import pick_device
from specviz.models.errors import Unsuitable
from specviz.models.passes import CaptureSpec, UnsupportedModel
from specviz.settings.threads import (
    OPENBLAS_TIMEOUT,
    SPIN_COUNT,
    USER_VARIABLES,
    original_environment,
    shorten_busy_wait,
)
from specviz.trace.file import Trace

CPU = torch.device("cpu")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def second(monkeypatch):
    """Make this process look like the second of two that torchrun started."""
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


def options(pair, place, *more):
    models = ["--target", str(pair[0]), "--drafter", str(pair[1]), "--seed", "5"]
    length = ["--prompt", tiny.PROMPT, "--max-new-tokens", "16", "--temperature", "0.8"]
    return ["run", *models, *length, "--siblings", "2,2", "--json", str(place), *more]


@pytest.mark.slow
def test_two_processes_print_one_text_equal_to_that_of_a_single_process(pair, tmp_path):
    two, one, trace = (tmp_path / name for name in ("two.json", "one.json", "two.jsonl"))
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command = [*start, "-m", "specviz", *options(pair, two, "--trace", str(trace))]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("tokens in") == 1
    assert main(options(pair, one)) == 0
    assert json.loads(two.read_text())["text"] == json.loads(one.read_text())["text"]
    assert Trace.read(trace).header.machine.startswith("2 processes, each on ")
    assert main(["check", str(trace)]) == 0


def test_command_that_cannot_be_split_is_refused_and_disconnects(second, monkeypatch, capsys):
    left = []
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: not left)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: left.append(1))
    served = ["run", "--prompt", "Hi", "--target", "vllm:http://127.0.0.1:9"]
    for words, sentence in (
        (["models"], "Only `run` works under torchrun"),
        (["models"], "Only `run` works under torchrun"),
        (served, "runs on a server"),
    ):
        assert main(words) == 2
        assert sentence in capsys.readouterr().err
        assert left == [1], "only once, while it is connected"


def test_one_of_several_processes_exits_without_finalizing_python(second, monkeypatch):
    """A connection thread that outlives the interpreter would abort the process."""

    def end(status):
        raise InterruptedError(status)

    monkeypatch.setattr(devices.os, "_exit", end)
    with pytest.raises(InterruptedError, match="3"):
        devices.exit_process(3)
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(SystemExit, match="3"):
        devices.exit_process(3)


def test_single_process_needs_no_communication():
    assert devices.is_leader()
    devices.check_agreement(CPU, [1, 2], [3])
    assert not devices.any_process(CPU, lambda: False)()
    assert devices.sharding_options("it", tiny.llama().config) == {}


def test_processes_stop_together_and_diverged_ones_raise_readable_error(second, monkeypatch):
    others: list[int] = []  # the number of the other process; this process's own follows it

    def gather(found, own):
        found[0].fill_(others.pop())
        found[1].copy_(own)

    monkeypatch.setattr(torch.distributed, "all_gather", gather)
    others.append(hash(((1, 2), (0, 1))))
    devices.check_agreement(CPU, [1, 2], [0, 1])
    others.append(hash(((1, 3), (0, 1))))
    with pytest.raises(devices.ProcessesDiverged, match="no longer decode the same text"):
        devices.check_agreement(CPU, [1, 2], [0, 1])
    stop = devices.any_process(CPU, lambda: False)
    others.append(0)
    assert not stop()
    others.append(1)
    assert stop()


def test_targets_and_drafters_that_cannot_be_split_are_refused(second, tiny_target, monkeypatch):
    config = tiny.llama().config
    config.num_key_value_heads = 3
    with pytest.raises(Unsuitable, match="3 key-value heads, which cannot be divided evenly"):
        devices.sharding_options("it", config)
    with pytest.raises(UnsupportedModel, match="each of the 2 processes has only a part"):
        tiny_target.start(CaptureSpec(keys_values=(1,)))
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(Unsuitable, match="pip install accelerate"):
        devices.sharding_options("it", tiny.llama().config)


def test_first_process_alone_writes_and_each_process_has_its_own_gpu(second, monkeypatch):
    assert not devices.is_leader()
    assert devices.own_device() == 1
    assert pick_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda") == torch.device("cuda", 1)
    assert pick_device("cuda:0") == torch.device("cuda", 0)


# Devices and precisions: selection and refusals.


def here(monkeypatch, cuda=0, mps=False):
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


# Busy-waiting of computing threads: set before torch is imported, respecting the host.


def test_busy_wait_is_shortened_unless_the_user_has_set_it():
    environment = {"PATH": "/bin"}
    shorten_busy_wait(environment)
    own = {"GOMP_SPINCOUNT": SPIN_COUNT, "KMP_BLOCKTIME": "0", OPENBLAS_TIMEOUT: "4"}
    assert environment == {"PATH": "/bin", **own}
    assert original_environment(environment) == {"PATH": "/bin"}, "for started programs"
    for name in USER_VARIABLES:
        environment = {name: "a word of their own"}
        shorten_busy_wait(environment)
        assert environment == {name: "a word of their own", OPENBLAS_TIMEOUT: "4"}
        assert original_environment(environment) == {name: "a word of their own"}


def test_command_line_and_page_both_set_busy_wait_first(monkeypatch):
    from specviz.commands import cli
    from specviz.ui import page

    for entry, call in ((cli, lambda: cli.main(["models"])), (page, lambda: page.launch(None))):
        monkeypatch.setattr(entry, "shorten_busy_wait", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call()


@pytest.fixture
def four(monkeypatch):
    """Simulate a machine with four threads, and record the calls to torch."""
    asked = [4]
    monkeypatch.setattr(threads, "default_threads", lambda: 4)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: asked[-1])
    return asked


def test_one_thread_is_used_if_it_is_clearly_faster(four, monkeypatch):
    for one, all_, taken in ((0.1, 1.0, 1), (0.9, 1.0, 4), (1.0, 0.5, 4), (0.79, 1.0, 1)):
        found = threads.choose_threads(lambda: one if four[-1] == 1 else all_)  # noqa: B023
        assert found == taken, (one, all_)
    given = []
    monkeypatch.setattr(threads, "share_with_numpy", lambda: given.append(four[-1]))
    times = iter([1.0, 0.1] * threads.TURNS)
    assert threads.choose_threads(lambda: next(times)) == 1
    assert given == [1], "NumPy uses the chosen number too"
    slow = iter([9.0])  # a single slow measurement changes nothing
    assert threads.choose_threads(lambda: next(slow, 1.0)) == 4
    monkeypatch.setattr(threads, "default_threads", lambda: 1)
    assert threads.choose_threads(lambda: pytest.fail("measured")) == torch.get_num_threads()


def test_numpy_uses_as_many_threads_as_torch(monkeypatch):
    """NumPy has no call for its number of threads, so its BLAS library is queried."""
    before = [each["num_threads"] for each in threads._blas().info()]
    assert before, "NumPy's BLAS was not found"
    monkeypatch.setenv(OPENBLAS_TIMEOUT, "4")
    try:
        for many in (2, 1, 2):
            monkeypatch.setattr(torch, "get_num_threads", lambda many=many: many)
            threads.share_with_numpy()
            assert {each["num_threads"] for each in threads._blas().info()} == {many}
        threads.share_with_numpy(large=False)
        assert {each["num_threads"] for each in threads._blas().info()} == {1}
        threads.share_with_numpy()
        monkeypatch.delenv(OPENBLAS_TIMEOUT)  # its threads would wait actively
        threads.share_with_numpy()
        assert {each["num_threads"] for each in threads._blas().info()} == {1}
    finally:
        threads._blas().limit(limits=before[0])


@pytest.mark.parametrize(("bound", "large"), [(1, True), (1 << 40, False)])
def test_numpy_uses_all_threads_for_a_large_target(bound, large, monkeypatch):
    given = []
    monkeypatch.setattr(target_module, "share_with_numpy", given.append)
    monkeypatch.setattr(products, "CACHE_BYTES", bound)
    tiny.target().start(CaptureSpec())
    assert given == [large]


def test_products_that_choose_the_number_of_threads_take_a_measurable_time():
    assert threads._seconds() > 0.0
