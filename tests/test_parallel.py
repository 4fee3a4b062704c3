"""A target split over two processes: the same text as in one process, printed once."""

from __future__ import annotations

import json
import os
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


def test_failing_command_disconnects_from_the_other_processes(second, monkeypatch, capsys):
    left = []
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: left.append(1))
    assert main(["models"]) == 2
    assert "Only `run` works under torchrun" in capsys.readouterr().err
    assert left == [1]
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: False)
    assert main(["models"]) == 2
    assert left == [1]


def test_one_of_several_processes_exits_without_finalizing_python(second):
    """A connection thread that outlives the interpreter would abort the process."""
    late = "import atexit, sys; atexit.register(print, 'finalized')"
    code = f"{late}; from specviz.models.devices import exit_process; exit_process(3)"
    for processes, printed in (("2", ""), ("1", "finalized\n")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "WORLD_SIZE": processes},
            cwd=HERE.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (3, printed)


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


def test_missing_accelerate_package_is_reported(second, monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(Unsuitable, match="pip install accelerate"):
        devices.sharding_options("it", tiny.llama().config)


def test_attention_heads_that_cannot_be_divided_are_refused(second):
    config = tiny.llama().config
    config.num_key_value_heads = 3
    with pytest.raises(
        Unsuitable, match="3 key-value heads, which cannot be divided evenly among 2"
    ):
        devices.sharding_options("it", config)


def test_drafter_that_reads_keys_and_values_is_refused(second, tiny_target):
    with pytest.raises(UnsupportedModel, match="each of the 2 processes has only a part"):
        tiny_target.start(CaptureSpec(keys_values=(1,)))


def test_first_process_alone_writes_and_each_process_has_its_own_gpu(second, monkeypatch):
    assert not devices.is_leader()
    assert devices.own_device() == 1
    assert pick_device("cpu") == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda") == torch.device("cuda", 1)
    assert pick_device("cuda:0") == torch.device("cuda", 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["models"], "Only `run` works under torchrun"),
        (["run", "--prompt", "Hi", "--target", "vllm:http://127.0.0.1:9"], "runs on a server"),
    ],
)
def test_runs_that_cannot_be_split_are_refused(words, sentence, second, capsys):
    assert main(words) == 2
    assert sentence in capsys.readouterr().err
