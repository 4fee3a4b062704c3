"""A target split over two processes: the same text as in one process, printed once."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import tiny
import torch

from specviz.commands.cli import main
from specviz.models import devices
from specviz.models.devices import pick_device
from specviz.models.errors import Unsuitable
from specviz.models.passes import CaptureSpec, UnsupportedModel
from specviz.trace.file import Trace

CPU = torch.device("cpu")
HERE = Path(__file__).resolve().parent


@pytest.fixture
def second(monkeypatch):
    """Make this process look like the second of two that torchrun started."""
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def others(second, monkeypatch):
    """Simulate the numbers of the other process, in turn; this process's own follow them."""
    said: list[int] = []
    turn = count()

    def gather(found, own):
        found[0].fill_(said[next(turn)])
        found[1].copy_(own)

    monkeypatch.setattr(torch.distributed, "all_gather", gather)
    return said


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
        command, cwd=HERE.parent, capture_output=True, text=True, timeout=240, check=False
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

    class Ended(BaseException):
        """In place of the end of the process."""

    def end(status):
        raise Ended(status)

    monkeypatch.setattr(devices.os, "_exit", end)
    with pytest.raises(Ended, match="3"):
        devices.exit_process(3)
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(SystemExit, match="3"):
        devices.exit_process(3)


def test_single_process_needs_no_communication():
    assert devices.is_leader()
    devices.check_agreement(CPU, [1, 2], [3])
    assert not devices.any_process(CPU, lambda: False)()
    assert devices.sharding_options("it", tiny.llama().config) == {}


def test_diverged_processes_raise_readable_error(others):
    others.append(hash(((1, 2), (0, 1))))
    devices.check_agreement(CPU, [1, 2], [0, 1])
    others.append(hash(((1, 3), (0, 1))))
    with pytest.raises(devices.ProcessesDiverged, match="no longer decode the same text"):
        devices.check_agreement(CPU, [1, 2], [0, 1])


def test_stop_request_in_one_process_stops_all_processes(others):
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
