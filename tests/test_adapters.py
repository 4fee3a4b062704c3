"""Undocumented APIs of libraries are used only in `specviz/adapters`; checked on the source."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ADAPTERS = ROOT / "specviz" / "adapters"
LIBRARIES = {
    "gguf", "gradio", "gradio_client", "huggingface_hub", "networkx", "plotly", "safetensors",
    "spaces", "starlette", "tokenizers", "torch", "transformers", "uvicorn", "xllamacpp",
}  # fmt: skip
# Modules that the documentation of these libraries names.
DOCUMENTED = LIBRARIES - {"gradio_client", "xllamacpp"} | {
    "gradio.themes", "huggingface_hub.errors", "plotly.graph_objects",
    "plotly.offline", "plotly.subplots", "safetensors.torch",
    "starlette.datastructures", "starlette.middleware", "starlette.middleware.gzip",
    "starlette.requests", "starlette.responses", "starlette.routing", "starlette.types",
    "tokenizers.decoders", "tokenizers.models", "tokenizers.normalizers",
    "tokenizers.pre_tokenizers", "tokenizers.processors", "tokenizers.trainers",
    "torch.distributed", "torch.nn", "torch.nn.functional", "torch.nn.modules.module",
    "torch.nn.utils.rnn", "transformers.utils.logging",
}  # fmt: skip
# Libraries whose modules must not be used as attributes either, as in `gr.context.Context`.
CHAINED = {"gradio", "gradio_client", "huggingface_hub", "spaces", "starlette"}
REFLECTION = {"getattr", "setattr", "hasattr", "delattr"}
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


def problems(source: str) -> list[str]:
    """Return one sentence for each undocumented API that a module's source uses."""
    nodes = list(ast.walk(ast.parse(source)))
    aliases = {}  # modules by their local names
    for alias in (each for node in nodes if isinstance(node, ast.Import) for each in node.names):
        first = alias.name.partition(".")[0]
        aliases[alias.asname or first] = alias.name if alias.asname else first
    docs = [node.value for node in nodes if isinstance(node, ast.Expr)]
    found = []
    for node in nodes:
        named = [name for name in names_in(node, aliases) if part_of(name)]
        found += [f"{name} is not documented" for name in named if name not in DOCUMENTED]
        if (private := private_name(node, aliases)) not in own_names():
            found.append(f"{private} is private")
        text = node.value if isinstance(node, ast.Constant) and node not in docs else None
        if isinstance(text, str) and (ROUTE.search(text) or DOM.search(text)):
            found.append(f"{text[:60]!r} is Gradio's")
    return sorted(set(found))


def part_of(name: str) -> bool:
    return name.partition(".")[0] in LIBRARIES


def names_in(node: ast.AST, aliases: dict[str, str]) -> list[str]:
    """Return the modules, and the private names, that a node imports or reaches."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names) if part_of(module):
            whole = [f"{module}.{alias.name}" for alias in names]
            return [name if "._" in name or is_module(name) else module for name in whole]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            return (
                [name] if ast.unparse(node.func).endswith(("import_module", "__import__")) else []
            )
        case ast.Attribute(value=ast.Name(id=alias), attr=attribute):
            name = f"{aliases.get(alias)}.{attribute}"
            return [name] if name.partition(".")[0] in CHAINED and is_module(name) else []
    return []


def private_name(node: ast.AST, aliases: dict[str, str]) -> str:
    """Return the private attribute that an expression uses of another object, or nothing."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            pass
        case ast.Call(func=ast.Name(id=function), args=[owner, ast.Constant(value=str(name)), *_]):
            name = name if function in REFLECTION else ""
        case _:
            return ""
    if not re.match("_(?!_)", name):
        return ""
    of = ast.unparse(owner)
    ours = of in ("self", "cls", "super()") or not part_of(aliases.get(of, "torch"))  # os._exit
    return "" if ours else name


@cache
def own_names() -> frozenset[str]:
    """Return every private name that this app may define, and those of named tuples."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources())
    defined = r"\b(?:def|class|self|cls)[ .](_\w+)|^\s*(_\w+)[:,= ]|__slots__.*[\"'](_\w+)[\"']"
    found = {name for names in re.findall(defined, code, re.MULTILINE) for name in names}
    return frozenset(found | {"", "_asdict", "_fields", "_make", "_replace"})


@pytest.mark.slow
def test_undocumented_apis_are_used_in_adapters_only():
    found = {name_of(path): problems(path.read_text(encoding="utf-8")) for path in sources()}
    assert len(found) > 250
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.slow
def test_adapters_import_no_other_module_of_the_package():
    for path in ADAPTERS.glob("*.py"):
        names = re.findall(r"^\s*(?:from|import) (specviz[\w.]*)", path.read_text(), re.MULTILINE)
        assert set(names) <= {"specviz.adapters"}, path


# The browser's code.

UI_FOLDER = ROOT / "specviz" / "ui"
SHEET = UI_FOLDER / "shared" / "15-gradio.css"
SCRIPTS = {UI_FOLDER / "shared" / "gradio.ts", UI_FOLDER / "shared" / "early.ts"}
CLASS = re.compile(r"(?<![\w\d])\.(-?[A-Za-z_][\w-]*)")
PLOTLY = {"barlayer", "hoverlayer", "scatterlayer"}


def foreign_classes(sheet: str) -> set[str]:
    """Return classes in a style sheet's selectors that belong to Gradio."""
    bare = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    selectors = re.sub(r"\{[^{}]*\}", "{}", bare)
    found = set(CLASS.findall(selectors)) | set(re.findall(r"data-testid", selectors))
    return {name for name in found if not re.match(r"sv(-|$)", name)} - PLOTLY - {"dark"}


def test_only_one_style_sheet_and_module_refer_to_gradio_elements():
    assert foreign_classes(".sv-a .wrap { margin: .5em }") == {"wrap"}
    assert not foreign_classes("/* .wrap */ .dark .sv-a:hover, .sv { margin: 1.5em }")
    sheets = set(UI_FOLDER.rglob("*.css"))
    assert len(sheets) > 30
    found = {name_of(path): foreign_classes(path.read_text(encoding="utf-8")) for path in sheets}
    assert {name for name, classes in found.items() if classes} == {name_of(SHEET)}
    for path in set(UI_FOLDER.rglob("*.ts*")) - SCRIPTS:
        code = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.M)
        strings = " ".join(re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", code))
        assert not DOM.search(strings), path
