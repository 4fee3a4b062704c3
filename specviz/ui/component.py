"""A part of the page that the browser draws: one gr.HTML with a static skeleton and a module.

Rule: data reaches a part as text (its value) and is set as text. A part's module, skeleton and
style sheets stand beside the Python of its section; what several share is in `shared/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import gradio as gr

from specviz.ui.routes import HALF, module_address
from specviz.ui.time_slice import limit_text
from specviz.ui.worker import Worker

START: Final = (
    "import(new URL(%s, document.baseURI))"
    ".then((section) => section.start(element, props, watch, trigger, %s));"
)


@dataclass(frozen=True, slots=True)
class TabContext:
    """demo: the page (a gr.Blocks), for its own events. runs: the machine and its line.

    any_model: whether visitors may name folders and Hub ids, beside the catalogue's models, and so
    have them fetched. fetches: the same as runs, for what only downloads and must not wait for it.
    """

    demo: Any
    runs: Worker
    any_model: bool
    fetches: Worker


def header() -> gr.HTML:
    """The logo and the name at left; larger text and dark at right."""
    return component("sv-brand", "shared/header", classes="")


def component(
    name: str,
    module: str,
    config: Mapping[str, Any] | None = None,
    classes: str = "sv-part",
    words: Mapping[str, str] | None = None,
) -> gr.HTML:
    """A component that draws itself in the browser; its value starts as None.

    name: its id on the page. module: its module and its skeleton, as a path in this folder without
    an ending. config: what its module knows beside the usual. words: the app's own, put where the
    skeleton says [name]; what visitors write never goes there. (A function, since Gradio writes a
    stub file beside every subclass of its components.)
    """
    markup = (HALF / f"{module}.html").read_text(encoding="utf-8")
    for place, text in (words or {}).items():
        markup = markup.replace(f"[{place}]", escape(text))
    return gr.HTML(
        None,
        html_template=markup,
        js_on_load=script(name, module, config or {}),
        apply_default_css=False,
        elem_id=name,
        elem_classes=classes or None,
    )


def bound(limit: float) -> gr.HTML:
    """What a visitor should know of a job's time before one begins. limit: its most seconds."""
    return gr.HTML(f"<p>{limit_text(limit)}</p>", elem_classes="sv-bound", padding=False)


def script(name: str, module: str, config: Mapping[str, Any]) -> str:
    """What starts a part: its module is imported and called with the part and its config."""
    known = {"name": name} | dict(config)
    # "<" is escaped, since Gradio carries this text inside the page's own script.
    data = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
    return START % (json.dumps(module_address(module)), data)


def css() -> str:
    """The page's style sheet: all of this folder's, by the number that their names begin with."""
    files = sorted(HALF.rglob("*.css"), key=lambda file: (file.name, file))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
