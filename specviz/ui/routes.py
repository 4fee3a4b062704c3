"""Addresses of the page's own files, and how long browsers may cache them.

The browser's modules are in the folder of their section's Python code; `tests/build.mjs` bundles
them into the scripts that are served, below an address that changes with their content.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from specviz.adapters.gradio import API_PREFIX
from specviz.catalog.entry import entries
from specviz.figures.marks import Marks, given_marks
from specviz.glossary import GLOSSARY, LINKS, TITLES
from specviz.settings import specs
from specviz.shipped import BrokenFile
from specviz.texts import text
from specviz.texts.languages import Language, languages
from specviz.trace.rule_specs import RULE_SPECS

PREFIX: Final = f"{API_PREFIX}/sv"
OPEN: Final = f"{PREFIX}/open"  # path to which traces are sent
FOR_EVER: Final = "public, max-age=31536000, immutable"
UI_FOLDER: Final = Path(__file__).resolve().parent  # path of the folder with the browser's modules
BUILT: Final = UI_FOLDER / "built"  # the bundles
GIVEN: Final = "GIVEN"  # the constant that a bundle reads its values from Python from


@cache
def scripts() -> tuple[str, Mapping[str, bytes]]:
    """Return the path of the scripts below PREFIX, and each one's compressed text by name."""
    texts = {path.name: script_text(path.stem).encode() for path in sorted(BUILT.glob("*.js"))}
    whole = hashlib.sha256(b"".join(texts.values())).hexdigest()
    packed = {name: gzip.compress(text, 9, mtime=0) for name, text in texts.items()}
    return f"js/{whole[:12]}", packed


def script_text(name: str) -> str:
    """Return a bundle of the page's modules, after the values from Python if it uses them."""
    text = (BUILT / f"{name}.js").read_text(encoding="utf-8")
    return f"{given()}{text}" if GIVEN in text else text


class Given(Marks):
    """Values that scripts get from Python.

    Attributes:
        GLOSSARY: The explanation of each term.
        LINKS: Titles and addresses of what shows more about some terms.
        TITLES: The displayed names of terms whose key differs from it.
        LANGUAGES: Catalogues of the lessons and the tour by code, English first.
    """

    GLOSSARY: dict[str, str]
    LINKS: dict[str, dict[str, str]]
    TITLES: dict[str, str]
    LANGUAGES: dict[str, Language]


def given() -> str:
    """Return the statement that defines GIVEN."""
    rows = [row for row in specs.SETTING_SPECS if row.label]
    menu = [*rules(), *drafters()]
    values: Given = {
        **given_marks(),
        "GLOSSARY": {row.name: row.sentence for row in rows}
        | {term: about for term, _, about in menu}
        | dict(GLOSSARY),
        "LINKS": {term: dict(links) for term, links in LINKS.items()},
        "TITLES": {row.name: row.label for row in rows}
        | {term: title for term, title, _ in menu}
        | dict(TITLES),
        "LANGUAGES": languages(),
    }
    # "<" is escaped, since files have the script in their markup.
    data = json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
    return f"const {GIVEN}={data};\n"


def rules() -> list[tuple[str, str, str]]:
    """Return the term, the title and the explanation of each rule of the menu.

    Rules with an entry of their own in the glossary are left out.
    """
    found = []
    for name, title in (*specs.RULES, ("speculative", "Speculative sampling: min(1, p ÷ q)")):
        tradeoff = RULE_SPECS[name].tradeoff if name in RULE_SPECS else ""
        lossy = title.removeprefix("Lossy: ")
        shown = title if lossy == title else f"{lossy[0].upper()}{lossy[1:]} (lossy)"
        if f"{name} verification" not in GLOSSARY:
            about = tradeoff or text("lossless", f"rule_{name.replace('-', '_')}")
            found.append((f"rule {name}", shown, about))
    return found


def drafters() -> list[tuple[str, str, str]]:
    """Return the term, the title and the explanation of each drafter."""
    try:
        found = [each for each in entries() if each.kind == "drafter" and each.how]
    except BrokenFile:  # which the tabs that need it say
        return []
    return [(f"drafter {each.name}", each.title, each.how) for each in found]


def script_address(name: str) -> str:
    """Return the address of a bundle of modules relative to the page."""
    folder, packed = scripts()
    if f"{name}.js" not in packed:
        raise LookupError(f"there is no script {name}.js")
    return f"{PREFIX}/{folder}/{name}.js".lstrip("/")


@cache
def plain_page(name: str, root: str) -> tuple[str, str]:
    """Return a page without Gradio, and its style sheet, whose hash is in the page's policy.

    Args:
        name: Path of its template, which ends with the name of its script.
        root: Address of the server's root relative to the page.
    """
    text = (UI_FOLDER / f"{name}_page.html").read_text(encoding="utf-8")
    colours = (UI_FOLDER / "shared/10-colours.css").read_text(encoding="utf-8")
    text = text.replace("[colours]", colours)
    text = text.replace("[module]", f"{root}/{script_address(Path(name).name)}")
    return text, text.split("<style>")[1].split("</style>")[0]
