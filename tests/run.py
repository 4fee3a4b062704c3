"""The test command: sets up what is missing, then lints, checks types and runs every test.

Rule: needs nothing but Python and, on a fresh machine, a network; run it in a virtual environment.
Standard library only. What follows the command goes to pytest.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import chromium

ROOT = Path(__file__).resolve().parent.parent
PIP = ["pip", "install", "--quiet", "--disable-pip-version-check"]
CHECKS = (["ruff", "check", "--quiet"], ["ruff", "format", "--check", "--quiet"], ["mypy"])


def module(*words: str) -> int:
    """Run `python -m words...` at the top of the repository; its exit status."""
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode


def main() -> int:
    """Everything, the tests last even where a check failed; 0 if all is well."""
    if module(*PIP, "-r", "requirements.txt", "-r", "tests/requirements.txt"):
        return 1
    chromium.install()
    failed = [check for check in CHECKS if module(*check)]
    for check in failed:
        print("failed:", *check, flush=True)
    status = module("pytest", "--quiet", *sys.argv[1:])
    return status or len(failed)


if __name__ == "__main__":
    sys.exit(main())
