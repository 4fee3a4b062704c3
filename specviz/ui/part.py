"""A part of the page that the browser draws: one gr.HTML with a static skeleton and a script.

Rule: data reaches a part as text (its value) and is set as text. A part's folder holds
`skeleton.html`, `js/` and perhaps `css/`; scripts see those of `assets/shared/js` too, and what
looks alike in several places is in `assets/shared/css`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gradio as gr

from specviz.assets import ASSETS
from specviz.figures.plot import USUAL
from specviz.glossary import GLOSSARY
from specviz.ui.server import PREFIX, plotly_js

PARTS: Final = ASSETS / "parts"
SHARED: Final = ASSETS / "shared"


def part(
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
