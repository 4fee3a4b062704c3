"""A part of the page that JavaScript renders: a gr.HTML with an HTML template and a module.

Data is passed to a part as text (its value) and shown as text. A part's module, template and style
sheets are in the folder of its section's Python code; shared ones are in `shared/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final

import gradio as gr

from specviz.figures.marks import state_rules
from specviz.ui.jobs import Jobs
from specviz.ui.routes import UI_FOLDER, script_address
from specviz.ui.task import limit_text
from specviz.ui.worker import Worker

START: Final = (
    "import(new URL(%s, document.baseURI))"
    ".then((page) => page.start(%s, element, props, watch, trigger, %s));"
)


@dataclass(frozen=True, slots=True)
class TabContext:
    """Everything that a tab needs while it is built.

    Attributes:
        demo: The page (a gr.Blocks), for its own events.
        any_model: Whether visitors may type folders and Hub ids, and so download models.
        fetches: A second worker for downloads, which must not wait for runs.
        jobs: The jobs of all sections, whose lines are sent to the page.
        changes: The event after which instruments answer for such a control, by name.
            Gradio repeats an event for all its listeners if one of them was busy, so that
            two controls with several listeners that change at the same time never come to
            rest.
        metrics_from: The address of a server's metrics that every visitor may read.
    """

    demo: Any
    runs: Worker
    any_model: bool
    fetches: Worker
    jobs: Jobs
    controls: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    metrics_from: str | None = None


def header() -> gr.HTML:
    """Return the logo and name, with the buttons for larger text and dark colours."""
    return component("sv-brand", "shared/header", classes="")


def component(
    name: str,
    module: str,
    config: Mapping[str, Any] | None = None,
    classes: str = "sv-part",
    words: Mapping[str, str] | None = None,
) -> gr.HTML:
    """Return a component that a module renders in the browser; its value is None at first.

    This is not a class, since Gradio writes a stub file for every subclass of its components.

    Args:
        name: Its id on the page.
        module: Path of its module and template in this folder, without an ending.
        config: Initial data of its module.
        classes: Its CSS classes.
        words: Texts for the template's [name] placeholders, which must not contain a visitor's
            text.
    """
    markup = (UI_FOLDER / f"{module}.html").read_text(encoding="utf-8")
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


def browser_object(name: str) -> str:
    """Return the JavaScript expression of what a component's `start` returned in the browser."""
    return f"window.specviz['{name}']"


def limit_note(limit: float) -> gr.HTML:
    """Return the note on a job's time limit, given in seconds."""
    return gr.HTML(f"<p>{limit_text(limit)}</p>", elem_classes="sv-limit", padding=False)


def script(name: str, module: str, config: Mapping[str, Any]) -> str:
    """Return the script that imports the page's script and starts a part with its config.

    Gradio adds to a component the events that its script mentions, as the config's "event".
    """
    known = {"name": name} | dict(config)
    # "<" is escaped, since Gradio puts this text into a script of the page.
    data = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
    return START % (json.dumps(script_address("page")), json.dumps(module), data)


def css() -> str:
    """Return all style sheets of this folder; see `style_sheets`."""
    return style_sheets(UI_FOLDER.rglob("*.css"))


def style_sheets(files: Iterable[Path]) -> str:
    """Return style sheets in the order of the numbers in their names.

    The rules for the states of a draft tree come first. Comments are left out.
    """
    ordered = sorted(files, key=lambda file: (file.name, file))
    text = "\n".join([state_rules(), *(file.read_text(encoding="utf-8") for file in ordered)])
    return re.sub(r"/\*.*?\*/\n?", "", text, flags=re.DOTALL)
