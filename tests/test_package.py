"""The package as `pip install .` makes it: built, installed elsewhere, used in an empty folder.

The environment contains the wheel and finds the dependencies of this environment through a path
file, so no network is needed. `tests/matrix.py` installs the dependencies themselves anew.
"""

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
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """Install the wheel in a new environment and return its command `specviz`."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", wheel, cwd=home)
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


def test_installed_program_runs_models_and_serves_the_page(program, tmp_path):
    assert run(program, "--version", cwd=tmp_path).strip() == f"specviz {specviz.__version__}"
    text = ["--prompt", "Once upon a time", "--max-new-tokens", "8", "--temperature", "0"]
    run(program, "run", *text, "--drafter", "eagle3", "--trace", "run.jsonl", cwd=tmp_path)
    trace = Trace.read(tmp_path / "run.jsonl")
    check(trace)
    assert trace.header.target.name == "house"
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
        finally:
            server.send_signal(signal.SIGINT)
            status = server.wait(120)
    assert status == 130
    assert "Traceback" not in output.read_text(encoding="utf-8")
