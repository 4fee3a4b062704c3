"""Imports go only to lower layers, checked in the source and in a new process."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from test_adapters import LIBRARIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
# The layers, lowest first: a folder or top-level module of the package imports only from layers
# listed before its own. `frames` and `figures` import from `trace` alone.
FLOORS = [
    "texts", "glossary", "shipped", "adapters", "settings", "trace", "frames", "figures",
    "verification", "models", "engine", "drafters", "catalog", "cost", "trees", "bench", "compare",
    "training", "ui", "commands",
]  # fmt: skip
MOST_ROOMS = 24
PLAYS_WITHOUT_MODELS = [
    "settings", "trace", "frames", "shipped", "cost", "trees.recorded_position", "trees.shapes",
    "trees.rounding", "compare.summary", "compare.domains.heatmap", "commands.cli", "commands.run",
    "commands.compare", "commands.check", "commands.models", "commands.fetch", "commands.bench",
    "commands.record", "commands.sweep", "commands.shapes", "commands.trees", "commands.server",
]  # fmt: skip
KNOWS_NO_SCREEN = [
    "engine", "models", "drafters", "verification", "catalog", "bench", "compare", "training",
]  # fmt: skip
SERVES = "specviz.commands.serve"  # the only command that serves the page
EXPORTS = "specviz.commands.export"  # writes a part of the page to a file
MODELS = {"torch", "transformers", "tokenizers", "safetensors", "numpy"}
SCREEN = {"gradio", "plotly", "networkx", "specviz.ui", "specviz.figures"}


@cache
def modules():
    """Return every module of the package by name, with its file."""
    found = {}
    for path in (ROOT / "specviz").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(module, lazy):
    """Return what a module imports: at its top only, or also inside functions (lazy)."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    found = set()
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports relatively"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not lazy:
            continue
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def reach(start, lazy=False):
    """Return everything that is imported along with a module, or with each module of a package."""
    seen = set()
    waiting = [name for name in modules() if name == start or name.startswith(f"{start}.")]
    assert waiting, f"there is no module {start}"
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            if name in modules():
                waiting += imports(name, lazy)
                waiting += [name.rsplit(".", 1)[0]] if "." in name else []
    return seen


def top(names):
    """Return the names together with their top-level packages."""
    return names | {name.split(".")[0] for name in names}


def test_code_that_shows_a_trace_does_not_import_torch():
    for module in PLAYS_WITHOUT_MODELS:
        assert not top(reach(f"specviz.{module}")) & MODELS, module


def test_engine_and_training_do_not_import_ui():
    for module in KNOWS_NO_SCREEN:
        assert not top(reach(f"specviz.{module}", lazy=True)) & SCREEN, module


def test_only_the_commands_serve_and_export_import_the_page_and_only_when_they_run():
    commands = {name for name in modules() if name.startswith("specviz.commands.")}
    for name in commands - {SERVES, EXPORTS}:
        assert not top(reach(name, lazy=True)) & SCREEN, name
    assert "specviz.ui.page" in imports(SERVES, lazy=True)
    assert not top(reach(SERVES)) & (MODELS | {"gradio", "plotly", "networkx", "specviz.figures"})
    assert not top(reach(EXPORTS)) & (MODELS | SCREEN)
    assert "specviz.ui.step.replay" in imports(EXPORTS, lazy=True)
    assert "torch" not in top(reach("specviz.ui.step.replay"))


def test_figures_do_not_import_engine():
    for module in ("specviz.frames", "specviz.figures"):
        found = top(reach(module, lazy=True))
        assert not found & (MODELS | {"specviz.engine", "specviz.ui", "gradio"}), module
    assert not top(reach("specviz.frames", lazy=True)) & SCREEN


def room(module):
    """Return the folder or top-level module of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


def test_every_package_belongs_to_a_layer_and_their_number_is_limited():
    rooms = {room(module) for module in modules()} - {"", "__main__"}
    assert rooms == set(FLOORS)
    assert len(rooms) <= MOST_ROOMS
    loose = {name for name in modules() if modules()[name].parent.name == "specviz"}
    assert len(loose) <= 5


def test_no_import_goes_to_a_higher_layer():
    for here in modules():
        for there in imports(here, True) & modules().keys():
            rooms = room(here), room(there)
            if {*rooms} <= {*FLOORS} and rooms[0] != rooms[1]:
                assert FLOORS.index(rooms[0]) > FLOORS.index(rooms[1]), f"{here} -> {there}"


def circles(graph):
    """Return the nodes on cycles and on paths to them, by removing nodes without successors."""
    while ends := {node for node, out in graph.items() if not out & graph.keys()}:
        graph = {node: out for node, out in graph.items() if node not in ends}
    return sorted(graph)


def test_no_modules_import_each_other_in_a_cycle():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e"}, "e": set()}
    assert circles(graph) == ["a", "b", "c"], "a cycle is found"
    graph = {name: imports(name, True) & modules().keys() - {name} for name in modules()}
    assert not circles(graph)


UI_FOLDER = ROOT / "specviz" / "ui"
SCRIPT_IMPORT = re.compile(r'^(?:im|ex)port\b(?! type)[^;"]*"(\.{1,2}/[^"]+)";', re.MULTILINE)


def script_imports():
    """Return the relative imports of each of the browser's modules, without endings."""
    found = {
        path.with_suffix(""): {
            (path.parent / name).resolve()
            for name in SCRIPT_IMPORT.findall(path.read_text("utf-8"))
        }
        for path in UI_FOLDER.rglob("*.ts*")
        if not path.name.endswith(".d.ts")
    }
    assert len(found) > 60
    assert all(imported <= found.keys() for imported in found.values())
    return found


# A lesson runs on Step and shows a figure of the article.
USED = {"learn": {UI_FOLDER / "step", UI_FOLDER / "learn" / "article"}}


def test_browser_section_imports_only_its_own_and_shared_modules_without_cycles():
    shared, found = UI_FOLDER / "shared", script_imports()
    for path, imported in found.items():
        tab = path.parent.parent / "shared"  # shared by the sections of one tab
        allowed = {path.parent, shared, tab} | USED.get(path.parent.name, set())
        if path == UI_FOLDER / "page":
            continue  # it starts the sections
        assert {each.parent for each in imported} <= allowed, path
    assert not circles(found)


# One process answers for the imports alone and after each command.
IN_A_NEW_PROCESS = f"""
import contextlib, io, sys
import {", ".join(f"specviz.{name}" for name in [*PLAYS_WITHOUT_MODELS, "catalog", "adapters"])}
for words in (None, [], ["check", "no file"], ["models"]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        words is None or specviz.commands.cli.main(words)
    libraries = {MODELS | SCREEN!r} | (set() if words else {LIBRARIES | {"rich", "tqdm"}!r})
    print(words, sorted(libraries & set(sys.modules)))
"""


def test_playing_a_trace_in_a_new_process_imports_neither_torch_nor_ui():
    """Confirm in a new process what the other tests read from the source."""
    command = [sys.executable, "-c", IN_A_NEW_PROCESS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "None []\n[] []\n['check', 'no file'] []\n['models'] []\n"
