"""The head of the page: the name, and two switches that need no server."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import gradio as gr

from specviz.assets import ASSETS

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
