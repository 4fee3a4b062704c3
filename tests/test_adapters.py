"""Undocumented APIs of libraries are used only in `specviz/adapters`; checked on the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ADAPTERS = ROOT / "specviz" / "adapters"
LIBRARIES = {
    "gguf",
    "gradio",
    "gradio_client",
    "huggingface_hub",
    "networkx",
    "plotly",
    "safetensors",
    "spaces",
    "starlette",
    "tokenizers",
    "torch",
    "transformers",
    "xllamacpp",
}
# Modules that the documentation of these libraries names.
DOCUMENTED = {
    "gguf",
    "gradio",
    "gradio.themes",
    "huggingface_hub",
    "huggingface_hub.errors",
    "networkx",
    "plotly",
    "plotly.offline",
    "safetensors",
    "safetensors.torch",
    "spaces",
    "starlette.datastructures",
    "starlette.middleware",
    "starlette.middleware.gzip",
    "starlette.requests",
    "starlette.responses",
    "starlette.routing",
    "starlette.types",
    "tokenizers",
    "tokenizers.decoders",
    "tokenizers.models",
    "tokenizers.normalizers",
    "tokenizers.pre_tokenizers",
    "tokenizers.processors",
    "tokenizers.trainers",
    "torch",
    "torch.distributed",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.modules.module",
    "torch.nn.utils.rnn",
    "transformers",
    "transformers.utils.logging",
}
# Libraries whose modules must not be used as attributes either, as in `gr.context.Context`.
CHAINED = {"gradio", "gradio_client", "huggingface_hub", "spaces", "starlette"}
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}  # documented despite the underscore
ROUTE = re.compile(
    r"gradio_api|/monitoring\b|/queue/(join|data)|/(proxy|file)=|/process_recording|/deep_link"
    r"|^/(config|upload|info|heartbeat)/?$"
)
DOM = re.compile(
    r"svelte|gradio-(container|app)|gradio_config|data-testid|\.(options|wrap|block|form|tabitem|"
    r"tab-wrapper|tab-container|html-container|input-container|column)(?![\w-])"
    r"|role=.?(tab|listbox|combobox|option)\b"
)


def sources() -> list[Path]:
    """Return every module of the app outside the adapters."""
    found = [path for path in (ROOT / "specviz").rglob("*.py") if ADAPTERS not in path.parents]
    return [*found, ROOT / "app.py"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def is_module(name: str) -> bool:
    """Return whether a dotted name is a module of an installed library, without importing it."""
    library, *rest = name.split(".")
    spec = find_spec(library)
    if spec is None:
        return False
    folders = [Path(each) for each in spec.submodule_search_locations or []]
    places = [folder.joinpath(*rest) for folder in folders]
    return not rest or any(p.is_dir() or p.with_suffix(".py").is_file() for p in places)


def problems(source: str, inherited: frozenset[str] = frozenset()) -> list[str]:
    """Return one sentence for each undocumented API that a module's source uses.

    inherited: private names defined in modules of this app that the source imports from.
    """
    tree = ast.parse(source)
    own = defined(tree) | inherited | NAMED_TUPLE
    modules = bound_modules(tree)
    found = []
    for node in ast.walk(tree):
        found += [f"{each} is not documented" for each in imported(node) if not allowed(each)]
        found += reached(node, modules)
        private = private_name(node, modules)
        if private and private not in own:
            found.append(f"{private} is private")
    docs = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            found += [
                f"{node.value[:60]!r} is Gradio's"
                for each in (ROUTE, DOM)
                if each.search(node.value)
            ]
    return sorted(set(found))


def imported(node: ast.AST) -> Iterator[str]:
    """Return the library modules and private names that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        whole = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if counts(name) else str(node.module) for name in whole]
    elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
        names = [a.value for a in node.args[:1] if isinstance(a, ast.Constant)]
    else:
        names = []
    yield from (name for name in names if part_of(name))


def counts(name: str) -> bool:
    """Return whether the imported name matters: it is private, or is a module itself."""
    return part_of(name) and (name.rpartition(".")[2].startswith("_") or is_module(name))


def part_of(name: str) -> bool:
    return name.partition(".")[0] in LIBRARIES


def allowed(name: str) -> bool:
    return name in DOCUMENTED and not any(part.startswith("_") for part in name.split("."))


def called(node: ast.Call) -> str:
    """Return the name of the called function, without its object."""
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def bound_modules(tree: ast.AST) -> dict[str, str]:
    """Return every module that `import` statements bring in, by its local name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
    return found


def reached(node: ast.AST, modules: dict[str, str]) -> list[str]:
    """Return an undocumented module that is used as an attribute of its library."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return []
    name = f"{modules.get(node.value.id, '')}.{node.attr}"
    chained = name.partition(".")[0] in CHAINED
    wrong = chained and is_module(name) and not allowed(name)
    return [f"{name} is not documented"] if wrong else []


def private_name(node: ast.AST, modules: dict[str, str]) -> str | None:
    """Return the private attribute that an expression uses of another object."""
    if isinstance(node, ast.Attribute):
        value, name = node.value, node.attr
    elif isinstance(node, ast.Call) and called(node) in (
        "getattr",
        "setattr",
        "hasattr",
        "delattr",
    ):
        value, text = (*node.args, None, None)[:2]
        name = text.value if isinstance(text, ast.Constant) else ""
    else:
        return None
    if not isinstance(name, str) or not name.startswith("_") or name.startswith("__"):
        return None
    if isinstance(value, ast.Name):
        elsewhere = value.id in modules and not part_of(modules[value.id])  # such as os._exit
        if value.id in ("self", "cls") or elsewhere:
            return None
    if isinstance(value, ast.Call) and called(value) == "super":
        return None
    return name


def defined(tree: ast.AST) -> set[str]:
    """Return every private name that a module defines."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
            if node.id == "__slots__":
                found |= slots(tree)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            found.add(node.attr)
    return {name for name in found if name.startswith("_")}


def slots(tree: ast.AST) -> set[str]:
    """Return the names in every `__slots__`."""
    return {
        each.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "__slots__" for one in node.targets)
        for each in ast.walk(node.value)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Return string literals that are statements, such as docstrings."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


@cache
def definitions() -> dict[str, frozenset[str]]:
    """Return the private names that each module of this app defines."""
    found = {}
    for path in (ROOT / "specviz").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[module] = frozenset(defined(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def inherited_by(source: str) -> frozenset[str]:
    """Return the private names that a module's classes may inherit from the modules it imports."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    names = [definitions().get(str(node.module), frozenset()) for node in nodes]
    return frozenset().union(*names)


def problems_in(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    return problems(source, inherited_by(source))


def test_undocumented_apis_are_used_in_adapters_only():
    found = {name_of(path): problems_in(path) for path in sources()}
    wrong = {name: each for name, each in found.items() if each}
    assert len(found) > 250
    assert wrong == {}


@pytest.mark.parametrize(
    "source",
    [
        "import gradio.context",
        "from gradio.events import api",
        "from gradio import context",
        "def f():\n    from huggingface_hub.utils import _http",
        "from huggingface_hub import _commit_api",
        "from spaces.config import Config",
        "from transformers import masking_utils",
        "import gradio as gr\ngr.context.Context.block",
        "from importlib import import_module\nimport_module('gradio.routes')",
        "def f(demo):\n    demo._queue.max_size",
        "def f(demo):\n    demo._queue = None",
        "def f(demo):\n    getattr(demo, '_queue', None)",
        "def f(demo):\n    setattr(demo, '_queue', None)",
        "import torch\ntorch._C",
        "class A:\n    def f(self, other):\n        return other._id + self._mine",
        "A = '/gradio_api/upload'",
        "B = '/queue/join'",
        "def f(name):\n    return f'/gradio_api/{name}'",
        "A = '.options li { color: red }'",
        "A = 'document.querySelector(\"[data-testid=textbox]\")'",
    ],
)
def test_adapter_check_detects_each_kind_of_undocumented_use(source):
    """Check the test itself."""
    assert problems(source)


@pytest.mark.parametrize(
    "source",
    [
        "import gradio as gr\ngr.themes.Base(), gr.Blocks().queue()",
        "from torch import Tensor, nn",
        "import os\nos._exit(1)",
        "class A:\n    def f(self):\n        return self._a + super()._b",
        "class A:\n    _a = 1\ndef f(one):\n    return one._a",
        "class A:\n    __slots__ = ('_a',)\ndef f(one):\n    return one._a",
        "def f(row):\n    return row._replace(a=1).__class__",
        '"""Answers below /gradio_api/ too."""',
    ],
)
def test_adapter_check_accepts_documented_names_and_names_of_specviz(source):
    """Check the test itself."""
    assert not problems(source)


def test_adapters_import_nothing_of_the_app_and_no_library_on_import():
    for path in ADAPTERS.glob("*.py"):
        names = re.findall(r"^\s*(?:from|import) (specviz[\w.]*)", path.read_text(), re.MULTILINE)
        assert set(names) <= {"specviz.adapters"}, path
    code = f"import sys, specviz.adapters; print(sorted({LIBRARIES!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# The browser's code.

HALF = ROOT / "specviz" / "ui"
SHEET = HALF / "shared" / "15-gradio.css"
SCRIPTS = {HALF / "shared" / "gradio.js", HALF / "shared" / "early.js"}
CLASS = re.compile(r"(?<![\w\d])\.(-?[A-Za-z_][\w-]*)")
PLOTLY = {"barlayer", "hoverlayer", "scatterlayer"}


def foreign_classes(sheet: str) -> set[str]:
    """Return classes in a style sheet's selectors that belong to Gradio."""
    bare = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    selectors = re.sub(r"\{[^{}]*\}", "{}", bare)
    found = set(CLASS.findall(selectors)) | set(re.findall(r"data-testid", selectors))
    return {name for name in found if not re.match(r"sv(-|$)", name)} - PLOTLY - {"dark"}


def test_only_one_style_sheet_refers_to_gradio_elements():
    sheets = set(HALF.rglob("*.css"))
    assert len(sheets) > 30
    found = {name_of(path): foreign_classes(path.read_text(encoding="utf-8")) for path in sheets}
    assert {name for name, classes in found.items() if classes} == {name_of(SHEET)}


def test_only_one_javascript_module_refers_to_gradio_elements():
    for path in set(HALF.rglob("*.js")) - SCRIPTS:
        code = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.M)
        strings = " ".join(re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", code))
        assert not DOM.search(strings), path


def test_adapter_check_detects_css_classes_of_gradio():
    """Check the tests themselves."""
    assert foreign_classes(".sv-a .wrap { margin: .5em }") == {"wrap"}
    assert foreign_classes("@media print {\n  .sv [data-testid=a] { b: c }\n}") == {"data-testid"}
    assert not foreign_classes("/* .wrap */ .dark .sv-a:hover, .sv { margin: 1.5em }")
    assert DOM.search("#sv-tabs > .tab-wrapper")
