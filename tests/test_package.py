"""The package as `pip install .` makes it: built, installed elsewhere, used in an empty folder.

The environment contains the wheel and finds the dependencies of this environment through a path
file, so no network is needed. `tests/matrix.py` installs the dependencies themselves anew.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from app_server import wait_for

import specviz
from specviz.shipped import ASSETS
from specviz.trace.check import check
from specviz.trace.file import Trace

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
# What pip does; only compression, which took five seconds, is left out.
BUILD = """import sys, zlib
zlib.Z_DEFAULT_COMPRESSION = 0
from hatchling.build import build_wheel
build_wheel(sys.argv[1])
"""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command, cwd):
    """Return the standard output of a command; fail with its output if it fails."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=outside, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel of this source."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-c", BUILD, folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """Install the wheel in a new environment and return its command `specviz`."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet"]
    run(*pip, "--no-compile", "--no-deps", "--no-index", wheel, cwd=home)
    own = run(scripts / "python", "-c", "import site; print(site.getsitepackages()[0])", cwd=home)
    (Path(own.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return scripts / "specviz"


def test_wheel_contains_all_code_and_data_with_version_dependencies_and_extras(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (name,) = (each for each in names if each.endswith("/METADATA"))
        lines = archive.read(name).decode().split("\n")
    data = {f"specviz/assets/{each.relative_to(ASSETS)}" for each in ASSETS.rglob("*.*")}
    code = {
        str(each.relative_to(ROOT))
        for kind in ("py", "js", "css", "html")
        for each in (ROOT / "specviz").rglob(f"*.{kind}")
        if not each.name.endswith(".d.ts")
    }
    assert len(data) > 100
    assert len(code) > 450
    assert not (data | code) - names
    assert not [name for name in names if name.startswith("tests/")]
    assert f"Version: {specviz.__version__}" in lines
    assert "Requires-Python: >=3.11" in lines
    for extra in PROJECT["optional-dependencies"]:
        assert f"Provides-Extra: {extra}" in lines
    plain = [line for line in lines if line.startswith("Requires-Dist") and "extra" not in line]
    assert len(plain) == len((ROOT / "requirements.txt").read_text(encoding="utf-8").split())


def free_port():
    """Return the number of a port that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def run_over_http(address, *values):
    """Return the trace of a run that a program asks the server for."""
    calls = f"{address}gradio_api/call/run"
    head = {"Content-Type": "application/json"}
    asked = urllib.request.Request(calls, json.dumps({"data": values}).encode(), head)
    with urllib.request.urlopen(asked, timeout=120) as answer:
        event = json.load(answer)["event_id"]
    with urllib.request.urlopen(f"{calls}/{event}", timeout=120) as answer:
        output = answer.read().decode().rpartition("\ndata: ")[2]
    return Trace.parse(json.loads(output)[0].splitlines())


def test_installed_program_runs_models_and_serves_the_page(program, tmp_path):
    assert run(program, "--version", cwd=tmp_path).strip() == f"specviz {specviz.__version__}"
    port = free_port()
    recorded = min(each.stem for each in (ASSETS / "traces").glob("*.jsonl"))
    command = [str(program), "serve", "--port", port, "--device", "cpu"]
    output = tmp_path / "output"
    with output.open("w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}/"
            wait_for(address)
            for path, part in (("", b"sv-tabs"), (f"gradio_api/sv/traces/{recorded}", b"")):
                with urllib.request.urlopen(f"{address}{path}", timeout=120) as answer:
                    assert part in answer.read()
            few = {"max_new_tokens": 8}
            trace = run_over_http(address, "Once upon a time", "eagle3", few, "house")
        finally:
            server.send_signal(signal.SIGINT)
            status = server.wait(120)
    assert status == 130
    assert "Traceback" not in output.read_text(encoding="utf-8")
    check(trace)
    assert (trace.header.target.name, trace.header.drafter.name) == ("house", "eagle3")
