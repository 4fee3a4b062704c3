"""The player: one gr.HTML whose skeleton is static. Data reaches it as text and is set as text.

The value is JSON Lines (see reel.py) that only grow during a run. It starts as None: recorded runs
are fetched once the page is up.
"""

from __future__ import annotations

import json
from dataclasses import fields

import gradio as gr

from specviz.assets import ASSETS
from specviz.catalog.known import entries
from specviz.figures.plot import USUAL
from specviz.frames.whatif import FALLEN, KEPT
from specviz.glossary import GLOSSARY
from specviz.settings import Settings
from specviz.ui.choices import Choices
from specviz.ui.recorded import names
from specviz.ui.server import PREFIX, plotly_js

FOLDER = ASSETS / "player"


def player(name: str) -> gr.HTML:
    """A component that steps through runs in the browser.

    name: its id on the page, and in `window.specviz.players`. (A function, since Gradio writes a
    stub file beside every subclass of its components.)
    """
    return gr.HTML(
        None,
        html_template=(FOLDER / "skeleton.html").read_text(encoding="utf-8"),
        js_on_load=script(name),
        apply_default_css=False,
        elem_id=name,
        elem_classes="sv-player",
    )


def script(name: str) -> str:
    """The player's JavaScript: its files in order, as one function's body."""
    config = {
        "name": name,
        "plotly": f"{PREFIX}/{plotly_js()[0]}".lstrip("/"),
        "traces": f"{PREFIX}/traces/".lstrip("/"),
        "recorded": list(names()),
        "glossary": dict(GLOSSARY),
        "trace": dict(USUAL),
        "usual": Settings().to_json(),
        "form": [f.name for f in fields(Choices) if f.name not in ("target", "drafter")],
        "drafters": [entry.name for entry in entries() if entry.kind == "drafter"],
        "laid": {"kept": KEPT, "fallen": FALLEN},
    }
    # "<" is escaped, since Gradio carries this text inside the page's own script.
    head = f"const CONFIG = {json.dumps(config)};\n".replace("<", "\\u003c")
    files = sorted((FOLDER / "js").glob("*.js"))
    return head + "\n".join(file.read_text(encoding="utf-8") for file in files)


def css() -> str:
    """The page's style sheet."""
    files = sorted((FOLDER / "css").glob("*.css"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
