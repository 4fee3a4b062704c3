"""Addresses of the page's own files, and how long browsers may cache them.

The JavaScript modules are in the folder of their section's Python code. All are served below one
address, which changes with their content, so relative imports work.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from plotly.offline import get_plotlyjs

from specviz.adapters.gradio import API_PREFIX
from specviz.figures.marks import Marks, given_marks
from specviz.figures.plot import TRACE_DEFAULTS, TraceDefaults
from specviz.glossary import GLOSSARY, TITLES
from specviz.settings import specs
from specviz.texts.languages import Language, languages

PREFIX: Final = f"{API_PREFIX}/sv"
FOR_EVER: Final = "public, max-age=31536000, immutable"
HALF: Final = Path(__file__).resolve().parent  # path of the folder with the browser's modules
GIVEN: Final = "shared/given.js"
EARLY: Final = HALF / "shared/early.js"  # this is not a module: it is in the page's head
# Matches an import of a module: the text before its relative path, and the path.
IMPORT: Final = re.compile(r'^((?:im|ex)port\b[^;"]*)"(\.{1,2}/[^"]+)";', re.MULTILINE)


@cache
def plotly_js() -> tuple[str, bytes]:
    """Return the name and the compressed text of the installed plotly.js."""
    source = get_plotlyjs().encode()
    return f"plotly-{hashlib.sha256(source).hexdigest()[:12]}.js", gzip.compress(source, 9)


@cache
def modules() -> tuple[str, Mapping[str, bytes]]:
    """Return the path of the modules below PREFIX, and each one's compressed text by path."""
    texts = module_texts(plotly_js()[0])
    whole = hashlib.sha256(json.dumps([[k, v.decode()] for k, v in texts.items()]).encode())
    packed = {name: gzip.compress(text, 9, mtime=0) for name, text in texts.items()}
    return f"js/{whole.hexdigest()[:12]}", packed


def module_texts(plotly: str) -> dict[str, bytes]:
    """Return each module's text without comments, by path; `plotly` is the value of PLOTLY."""
    paths = sorted(set(HALF.rglob("*.js")) - {EARLY})
    texts = {path.relative_to(HALF).as_posix(): path.read_bytes() for path in paths}
    texts[GIVEN] = given(plotly).encode()
    return {name: lean(text) for name, text in texts.items()}


def imported(names: Iterable[str], texts: Mapping[str, bytes]) -> set[str]:
    """Return the paths of modules and of all modules that they import, directly or not.

    Args:
        names: Paths of modules to start from.
        texts: The text of every module by path.
    """
    found: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += [resolve(name, each) for _, each in IMPORT.findall(texts[name].decode())]
    return found


def resolve(name: str, specifier: str) -> str:
    """Return the path of the module that the module `name` imports by a relative specifier."""
    return posixpath.normpath(posixpath.join(name, "..", specifier))


def lean(text: bytes) -> bytes:
    """Remove a module's comment lines."""
    return re.sub(rb"^[ \t]*(//.*|/\*\*((?!\*/)[\s\S])*\*/)\n", b"", text, flags=re.MULTILINE)


class Given(Marks):
    """Values of the module GIVEN.

    Attributes:
        GLOSSARY: The explanation of each term.
        TITLES: The displayed names of terms whose key differs from it.
        PLOTLY: The file name of plotly.js, which is served below PREFIX.
        LANGUAGES: Catalogues of the lessons and the tour by code, English first.
    """

    GLOSSARY: dict[str, str]
    TITLES: dict[str, str]
    TRACE: TraceDefaults
    PLOTLY: str
    LANGUAGES: dict[str, Language]


def given(plotly: str) -> str:
    """Return the text of the module GIVEN; `plotly` is its value of PLOTLY."""
    rows = [row for row in specs.SETTING_SPECS if row.label]
    values: Given = {
        **given_marks(),
        "GLOSSARY": {row.name: row.sentence for row in rows} | dict(GLOSSARY),
        "TITLES": {row.name: row.label for row in rows} | dict(TITLES),
        "TRACE": TRACE_DEFAULTS,
        "PLOTLY": plotly,
        "LANGUAGES": languages(),
    }
    return "".join(f"export const {key} = {json.dumps(value)};\n" for key, value in values.items())


configs: Final[dict[str, bytes]] = {}  # compressed JSON of all sections built, by file name


def config_address(section: str, data: str) -> str:
    """Store a section's config to be fetched; return its address relative to the page."""
    name = f"{section}-{hashlib.sha256(data.encode()).hexdigest()[:12]}.json"
    configs[name] = gzip.compress(data.encode(), 9, mtime=0)
    return f"{PREFIX}/sections/{name}".lstrip("/")


def module_address(name: str) -> str:
    """Return a module's address relative to the page; `name` is its path without ".js"."""
    folder, packed = modules()
    if f"{name}.js" not in packed:
        raise LookupError(f"there is no module {name}.js")
    return f"{PREFIX}/{folder}/{name}.js".lstrip("/")


@cache
def plain_page(name: str, root: str) -> tuple[str, str]:
    """Return a page without Gradio, and its style sheet, whose hash is in the page's policy.

    Args:
        name: Path of its module without ".js". Its template is beside it.
        root: Address of the server's root relative to the page.
    """
    text = (HALF / f"{name}_page.html").read_text(encoding="utf-8")
    colours = (HALF / "shared/10-colours.css").read_text(encoding="utf-8")
    text = text.replace("[colours]", colours)
    text = text.replace("[module]", f"{root}/{module_address(name)}")
    return text, text.split("<style>")[1].split("</style>")[0]
