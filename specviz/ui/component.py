"""A part of the page that the browser draws: one gr.HTML with a static skeleton and a script.

Rule: data reaches a part as text (its value) and is set as text. A part's folder holds
`skeleton.html`, `js/` and perhaps `css/`; scripts see those of `assets/shared/js` too, and what
looks alike in several places is in `assets/shared/css`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import gradio as gr

from specviz.figures.plot import USUAL
from specviz.glossary import GLOSSARY
from specviz.shipped import ASSETS
from specviz.ui.routes import PREFIX, plotly_js
from specviz.ui.worker import Worker

FOLDER = ASSETS / "page"


def header() -> gr.HTML:
    """The logo and the name at left; larger text and dark at right."""
    return static("header", "sv-brand")


def static(
    name: str, elem_id: str, words: Mapping[str, str] | None = None, classes: str | None = None
) -> gr.HTML:
    """A part of the page whose markup never changes, with the script that wires it.

    words: the app's own, put where the markup says [name]; what visitors write never goes here.
    """
    markup = (FOLDER / f"{name}.html").read_text(encoding="utf-8")
    for place, text in (words or {}).items():
        markup = markup.replace(f"[{place}]", escape(text))
    return gr.HTML(
        None,
        html_template=markup,
        js_on_load=(FOLDER / f"{name}.js").read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=classes,
    )


@dataclass(frozen=True, slots=True)
class TabContext:
    """demo: the page (a gr.Blocks), for its own events. runs: the machine and its line.

    any_model: whether visitors may name folders and Hub ids, beside the catalogue's models.
    """

    demo: Any
    runs: Worker
    any_model: bool


PARTS: Final = ASSETS / "parts"
SHARED: Final = ASSETS / "shared"


def component(
    name: str, folder: Path, config: Mapping[str, Any] | None = None, classes: str = "sv-part"
) -> gr.HTML:
    """A component that draws itself in the browser; its value starts as None.

    name: its id on the page. config: what its script knows beside the usual, as `CONFIG`. (A
    function, since Gradio writes a stub file beside every subclass of its components.)
    """
    return gr.HTML(
        None,
        html_template=(folder / "skeleton.html").read_text(encoding="utf-8"),
        js_on_load=script(name, folder, config or {}),
        apply_default_css=False,
        elem_id=name,
        elem_classes=classes,
    )


def script(name: str, folder: Path, config: Mapping[str, Any]) -> str:
    """A part's JavaScript: shared files and its own, by file name, as one function's body."""
    usual = {
        "name": name,
        "plotly": f"{PREFIX}/{plotly_js()[0]}".lstrip("/"),
        "glossary": dict(GLOSSARY),
        "trace": dict(USUAL),
    }
    # "<" is escaped, since Gradio carries this text inside the page's own script.
    head = f"const CONFIG = {json.dumps(usual | dict(config))};\n".replace("<", "\\u003c")
    scripts = [*(SHARED / "js").glob("*.js"), *(folder / "js").glob("*.js")]
    files = sorted(scripts, key=lambda f: f.name)
    return head + "\n".join(file.read_text(encoding="utf-8") for file in files)


def css() -> str:
    """The page's style sheet: the page's and the player's, what parts share, each part's own."""
    files = sorted((ASSETS / "player" / "css").glob("*.css"))
    files += sorted((SHARED / "css").glob("*.css"))
    files += sorted(PARTS.glob("*/css/*.css"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
