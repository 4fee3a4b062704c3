"""The app on ZeroGPU, with the real package `spaces` enforcing its rules; see tests/zero.

The package forks a process for the GPU's work; a fake scheduler grants every request, and the GPU
is simulated. All tests share one server and one such process.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from html import unescape
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
import spaces
from app_server import wait_for
from gradio_client import Client
from gradio_client.exceptions import AppError
from zero.scheduler import scheduling
from zero.visitor import Visitor

from specviz.adapters import spaces as adapter
from specviz.catalog.entry import entries
from specviz.compare.domains import Plan
from specviz.compare.race import Lane, Race
from specviz.settings.settings import Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.ui import task
from specviz.ui.compare.domains import measured_live
from specviz.ui.compare.race import live as races
from specviz.ui.cost.sweep import LIVE
from specviz.ui.lossless import proof
from specviz.ui.request import RunRequest
from specviz.ui.step.live import recorded, shown
from specviz.ui.step.recorded import names, recipe
from specviz.ui.task import JobContext, Machine, StopFlag
from specviz.ui.trees import grow as trees

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
VISITOR = "e30.e30.the-visitor"  # a token as a Space's proxy adds it to every request
PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def scheduler():
    with scheduling() as made:
        yield made


@pytest.fixture(scope="module")
def address(scheduler, tmp_path_factory):
    """Serve the app as on a ZeroGPU Space."""
    home = tmp_path_factory.mktemp("space")
    (home / "cgroup").write_text("0::/pretended\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    space = {
        "SPACES_ZERO_GPU": "true",
        "SPACES_ZERO_DEVICE_API_URL": scheduler.address,
        "ZEROGPU_OFFLOAD_DIR": str(home / "tensors"),
        "ZEROGPU_PROC_SELF_CGROUP_PATH": str(home / "cgroup"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "tests/zero/serve.py", port]
    with (home / "log").open("w") as log:
        where = {"cwd": ROOT, "env": os.environ | space, "stdout": log, "stderr": log}
        server = subprocess.Popen(command, start_new_session=True, **where)
        try:
            place = f"http://127.0.0.1:{port}/"
            wait_for(place)
            yield place
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # the forked process too
            server.wait()


@pytest.fixture(scope="module")
def client(address):
    made = Client(address, headers={"X-IP-Token": VISITOR}, verbose=False, analytics_enabled=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def visitor(address):
    with Visitor(address, VISITOR) as made:
        yield made


def kinds(text):
    """Return the kind of each line; a status line by its own name."""
    lines = [json.loads(line) for line in text.splitlines()]
    return [line.get("state", line["kind"]) for line in lines]


def streamed(visitor, prompt=PROMPT, **settings):
    """Yield a live run of Step as the texts that its page receives."""
    return visitor.press("sv-branch", request=json.dumps({"prompt": prompt, "settings": settings}))


def test_run_of_an_api_client_uses_the_gpu_time_of_its_user(scheduler, client):
    for drafter in ("eagle3", "ngram"):
        before = len(scheduler.of("/schedule"))
        asked = {"drafter": drafter, "settings": {"max_new_tokens": 8}}
        trace = Trace.parse(client.predict(PROMPT, **asked, api_name="/run").split("\n"))
        check(trace)
        assert trace.header.machine == "a pretended GPU"
        assert trace.header.drafter.name == drafter
        (grant,) = scheduler.of("/schedule")[before:]
        assert grant["token"] == VISITOR
        assert int(grant["durationSeconds"]) == 10


def test_live_run_is_streamed_and_reports_the_requested_gpu_time(scheduler, visitor):
    *_, last = streamed(visitor, max_new_tokens=8)
    said = kinds(last)
    assert said[:5] == ["lending", "loading", "drafting", "run", "round"]
    assert said[-3:] == ["finished", "baseline", "done"]
    grant = scheduler.of("/schedule")[-1]
    assert grant["token"] == VISITOR
    assert json.loads(last.splitlines()[0])["seconds"] == int(grant["durationSeconds"]) == 10


def test_error_of_a_model_is_returned_with_its_message(client, visitor):
    *_, last = streamed(visitor, "")
    assert kinds(last) == ["lending", "loading", "drafting", "error"]
    assert "empty" in last
    with pytest.raises(AppError, match="empty"):
        client.predict("", api_name="/run")


def test_stopped_run_ends_after_its_round_and_its_process_continues(scheduler, visitor):
    run = streamed(visitor, max_new_tokens=300)
    for text in run:
        if "round" in kinds(text):
            visitor.stop()
        last = text
    assert kinds(last)[-2:] == ["finished", "stopped"]
    assert '"reason":"stopped"' in last
    assert kinds(last).count("round") < 60
    *_, last = streamed(visitor, max_new_tokens=4)
    assert kinds(last)[-1] == "done"
    assert len(scheduler.of("/allow")) == 1, "one process did all of it"
    assert {call["fail"] for call in scheduler.of("/release")} == {"false"}


def test_position_shown_on_trees_is_kept_for_later_requests(visitor):
    *_, said = visitor.press("sv-grow-job-go", PROMPT + "\u2028", "medusa", 1)
    assert kinds(said)[0] == "lending"
    (place,) = set(re.findall(r'"(live:\w+)"', said))
    visitor.change("sv-grow-job", [], "result", {"value": {"title": "mine", "place": place}})
    form = ["dynamic", 3, 2, 5, "", 1, 0, "kept", 1, 0, PROMPT, "medusa", 1, 1, "warm"]
    told = str(visitor.change("sv-grow-step", [place, *form], "input"))
    assert "**live** · Medusa drafts for House" in told


def test_all_shipped_models_are_loaded_before_launch(scheduler, visitor):
    """The Models tab counts them, although this process has loaded none."""
    assert scheduler.asked[0].path == "/startup-report"
    told = unescape(str(visitor.change("sv-models-model", ["", "all", "all", "House"])))
    here = re.findall(r"- \*\*(.+?)\*\* [\d.]+ MB \([^)]*; ([^;)]+)\)", told)
    assert {where for _, where in here} == {"cuda:0, float32"}
    known = [each for each in entries() if each.folder and each.made_for in (None, "house")]
    assert {title for title, _ in here} == {each.title for each in known}
    assert len(known) > 8


def race(tokens=64, target="house"):
    settings = Settings(max_new_tokens=tokens)
    return Race(PROMPT, target, (Lane("a", "eagle3", settings), Lane("b", "ngram", settings)), 1)


TASKS = {
    "run": shown(RunRequest(PROMPT)),
    "trace": recorded(RunRequest(PROMPT)),
    "race": races.live(race()),
    "domains": measured_live(Plan(("eagle3", "ngram"))),
    "sweep": LIVE,
    "repeats": proof.live(recipe(names()[0])),
    "look": trees.live(RunRequest(PROMPT), 3),
}


def test_all_tasks_can_be_pickled():
    for name, work in TASKS.items():
        desk = JobContext(Machine("cpu", "float32"), "1", StopFlag())
        there, asked = ForkingPickler.loads(ForkingPickler.dumps((desk, work)))
        assert there == desk, name
        assert bytes(ForkingPickler.dumps(asked)) == bytes(ForkingPickler.dumps(work)), name
        assert 10 < asked.seconds < 60, "a visitor without an account has two minutes a day"
        desk.unwanted.set(True)
        assert there.unwanted()


def test_larger_tasks_request_more_gpu_time():
    settings = Settings(max_new_tokens=512)
    assert shown(RunRequest(PROMPT, settings=settings)).seconds > TASKS["run"].seconds + 10
    assert shown(RunRequest(PROMPT, "owner/name")).seconds > TASKS["run"].seconds + 20
    assert races.live(race(256)).seconds > TASKS["race"].seconds + 20
    many = measured_live(Plan(("eagle3", "ngram"), prompts=3))
    assert many.seconds > TASKS["domains"].seconds + 10


def test_function_is_unchanged_outside_zerogpu():
    """Without the package, see test_library_adapters.py."""
    assert not adapter.ZEROGPU
    assert spaces.GPU(duration=1)(task.performed) is task.performed
    assert task.perform is task.performed
