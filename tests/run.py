"""The test command: sets up what is missing, then lints, checks types and runs every test.

Rule: needs nothing but Python and, on a fresh machine, a network; run it in a virtual environment.
Standard library only. `--quick` leaves out the browser and whatever counts hundreds of runs. What
else follows the command goes to pytest.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import chromium

ROOT = Path(__file__).resolve().parent.parent
PIP = ["pip", "install", "--quiet", "--disable-pip-version-check"]
NEEDED = ("requirements.txt", "tests/requirements.txt")
INSTALLED = Path(sys.prefix) / "specviz-tests-installed"  # what NEEDED said when pip last ran
CHECKS = (["ruff", "check", "--quiet"], ["ruff", "format", "--check", "--quiet"], ["mypy"])
QUICK = ["-m", "not slow and not browser", "--ignore", "tests/browser"]


def module(*words: str) -> int:
    """Run `python -m words...` at the top of the repository; its exit status."""
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode


def install(quick: bool) -> int:
    """Install what the tests need; pip's status. Quick: not again while the lists are the same."""
    lists = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in NEEDED)).hexdigest()
    if quick and INSTALLED.is_file() and INSTALLED.read_text() == lists:
        return 0
    status = module(*PIP, *(word for name in NEEDED for word in ("-r", name)))
    if not status:
        INSTALLED.write_text(lists)
    return status


def main(words: list[str]) -> int:
    """Everything, the tests last even where a check failed; 0 if all is well."""
    quick = "--quick" in words
    if install(quick):
        return 1
    if not quick:
        chromium.install()
    failed = [check for check in CHECKS if module(*check)]
    for check in failed:
        print("failed:", *check, flush=True)
    chosen = [word for word in words if word != "--quick"]
    status = module("pytest", "--quiet", *(QUICK if quick else []), *chosen)
    return status or len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
