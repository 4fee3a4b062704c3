"""Imports go only to lower layers, checked in the source and in a new process."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# The layers, lowest first: a folder or top-level module of the package imports only from layers
# listed before its own. `frames` and `figures` import from `trace` alone.
FLOORS = (
    "texts",
    "glossary",
    "shipped",
    "adapters",
    "settings",
    "trace",
    "frames",
    "figures",
    "verification",
    "models",
    "engine",
    "drafters",
    "catalog",
    "cost",
    "trees",
    "bench",
    "compare",
    "training",
    "ui",
    "commands",
)
MOST_ROOMS = 24
PLAYS_WITHOUT_MODELS = (
    "specviz.settings",
    "specviz.trace",
    "specviz.frames",
    "specviz.shipped",
    "specviz.cost",
    "specviz.trees.recorded_position",
    "specviz.trees.shapes",
    "specviz.trees.rounding",
    "specviz.compare.summary",
    "specviz.compare.domains.heatmap",
    "specviz.commands.cli",
    "specviz.commands.run",
    "specviz.commands.compare",
    "specviz.commands.check",
    "specviz.commands.models",
    "specviz.commands.fetch",
    "specviz.commands.bench",
    "specviz.commands.record",
    "specviz.commands.sweep",
    "specviz.commands.shapes",
    "specviz.commands.trees",
    "specviz.commands.server",
)
KNOWS_NO_SCREEN = (
    "specviz.engine",
    "specviz.models",
    "specviz.drafters",
    "specviz.verification",
    "specviz.catalog",
    "specviz.bench",
    "specviz.compare",
    "specviz.training",
)
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


@pytest.mark.parametrize("module", PLAYS_WITHOUT_MODELS)
def test_code_that_shows_a_trace_does_not_import_torch(module):
    assert not top(reach(module)) & MODELS


@pytest.mark.parametrize("module", KNOWS_NO_SCREEN)
def test_engine_and_training_do_not_import_ui(module):
    assert not top(reach(module, lazy=True)) & SCREEN


def commands():
    """Return the modules of all commands except `serve` and `export`."""
    own = {name for name in modules() if name.startswith("specviz.commands.")}
    return sorted(own - {SERVES, EXPORTS})


def test_only_the_commands_serve_and_export_import_the_page():
    assert not [name for name in commands() if top(reach(name, lazy=True)) & SCREEN]
    assert "specviz.ui.page" in imports(SERVES, lazy=True)


def test_serve_command_imports_the_page_only_when_it_runs():
    assert not top(reach(SERVES)) & (MODELS | {"gradio", "plotly", "networkx", "specviz.figures"})


def test_export_command_imports_the_player_when_it_runs_and_never_a_model():
    assert not top(reach(EXPORTS)) & (MODELS | SCREEN)
    assert "specviz.ui.step.replay" in imports(EXPORTS, lazy=True)
    assert "torch" not in top(reach("specviz.ui.step.replay"))


@pytest.mark.parametrize("module", ["specviz.frames", "specviz.figures"])
def test_figures_do_not_import_engine(module):
    found = top(reach(module, lazy=True))
    assert not found & (MODELS | {"specviz.engine", "specviz.ui", "gradio"})


def test_frames_do_not_import_plotly():
    assert not top(reach("specviz.frames", lazy=True)) & SCREEN


def room(module):
    """Return the folder or top-level module of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


def arrows(room_of=room):
    """Return every import between layers as (importing layer, imported layer, modules)."""
    return {
        (room_of(here), room_of(there), f"{here} -> {there}")
        for here in modules()
        for there in imports(here, True) & modules().keys()
        if room_of(here) != room_of(there)
    }


def test_every_package_belongs_to_a_layer_and_their_number_is_limited():
    rooms = {room(module) for module in modules()} - {"", "__main__"}
    assert rooms == set(FLOORS)
    assert len(rooms) <= MOST_ROOMS
    loose = {name for name in modules() if modules()[name].parent.name == "specviz"}
    assert len(loose) <= 5


@pytest.mark.parametrize("floor", FLOORS)
def test_no_import_goes_to_a_higher_layer(floor):
    above = FLOORS[FLOORS.index(floor) :]
    assert not sorted(arrow for here, there, arrow in arrows() if here == floor and there in above)


def circles(graph):
    """Return the nodes on cycles and on paths to them, by removing nodes without successors."""
    while ends := {node for node, out in graph.items() if not out & graph.keys()}:
        graph = {node: out for node, out in graph.items() if node not in ends}
    return sorted(graph)


def test_no_modules_import_each_other_in_a_cycle():
    graph = {name: imports(name, True) & modules().keys() - {name} for name in modules()}
    assert not circles(graph)


def test_import_cycle_is_detected():
    """Check the test itself."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e"}, "e": set()}
    assert circles(graph) == ["a", "b", "c"]
    assert not circles({"d": {"e"}, "e": set()})


HALF = ROOT / "specviz" / "ui"
JS_IMPORT = re.compile(r'^(?:im|ex)port\b[^;"]*"(\.{1,2}/[^"]+)";', re.MULTILINE)


def js_imports():
    """Return the imports of each JavaScript module; Python generates `given.js`."""
    found = {
        path: {
            (path.parent / name).resolve() for name in JS_IMPORT.findall(path.read_text("utf-8"))
        }
        for path in HALF.rglob("*.js")
    }
    written = found.keys() | {HALF / "shared" / "given.js"}
    assert len(found) > 60
    assert all(imported <= written for imported in found.values())
    return found


@pytest.mark.slow
def test_no_browser_modules_import_each_other_in_a_cycle():
    assert not circles(js_imports())


@pytest.mark.slow
def test_browser_section_imports_only_its_own_and_shared_modules():
    """Sections get the names of the vendored library through `view.js`."""
    shared = HALF / "shared"
    for path, imported in js_imports().items():
        tab = path.parent.parent / "shared"  # shared by the sections of one tab
        allowed = {path.parent, shared, tab}
        if path == shared / "view.js":
            allowed.add(HALF / "vendor")
        assert {each.parent for each in imported} <= allowed, path


def test_import_pattern_matches_every_javascript_import_and_nothing_else():
    """Check the test itself."""
    text = """// import { no } from "./comment.js";
import { one } from "./one.js";
import {
  two,
} from "../shared/two.js";
import "./three.js";
export { four } from "./four.js";
const text = 'import "./no.js"';
/** @import { Five } from "./five.js" */
"""
    assert JS_IMPORT.findall(text) == ["./one.js", "../shared/two.js", "./three.js", "./four.js"]


CALLS = (
    "specviz.commands.cli.main(['models'])",
    "specviz.commands.cli.main([])",
    "specviz.commands.cli.main(['check', 'no file'])",
)
LISTED = ", ".join([*PLAYS_WITHOUT_MODELS, "specviz.catalog"])
COMMAND = (
    "import contextlib, io, specviz.commands.cli\n"
    "said = io.StringIO()\n"
    "with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):\n    "
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code", [f"import {LISTED}", *(f"{COMMAND}{call}" for call in CALLS)], ids=["all", *CALLS]
)
def test_playing_a_trace_in_a_new_process_imports_neither_torch_nor_ui(code):
    """Confirm in a new process what the other tests read from the source."""
    code = f"{code}\nimport sys; print(sorted({MODELS | SCREEN!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.slow
def test_import_search_detects_an_indirect_import_of_torch():
    """Check the test itself: imports over several steps, and inside functions."""
    assert "torch" in top(reach("specviz.catalog.loading"))
    assert "specviz.verification.tree" in reach("specviz.engine")
    assert "torch" not in top(reach("specviz.commands.run"))
    assert "torch" in top(reach("specviz.commands.run", lazy=True))
