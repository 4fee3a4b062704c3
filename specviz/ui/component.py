"""A part of the page that the browser renders: one gr.HTML with a static skeleton and a module.

Data reaches a part as text (its value) and is set as text. A part's module, skeleton and style
sheets are beside the Python of its section; shared ones are in `shared/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import gradio as gr

from specviz.figures.marks import state_rules
from specviz.ui.jobs import Jobs
from specviz.ui.questions import Questions
from specviz.ui.routes import HALF, config_address, module_address
from specviz.ui.task import limit_text
from specviz.ui.worker import Worker

START: Final = (
    "import(new URL(%s, document.baseURI))"
    ".then(async (section) => section.start(element, props, watch, trigger, %s));"
)
FETCH: Final = "{...%s, ...await fetch(new URL(%s, document.baseURI)).then((it) => it.json())}"
LONGEST: Final = 4000  # characters of a config that the page contains; a longer one is fetched


@dataclass(frozen=True, slots=True)
class TabContext:
    """The context that a tab is built in.

    Attributes:
        demo: The page (a gr.Blocks), for its own events.
        runs: The machine and its queue.
        any_model: Whether visitors may name folders and Hub ids, and so download them.
        fetches: A second queue for downloads, which must not wait for runs.
        questions: Where its sections answer the page's questions.
        jobs: Where its sections' jobs can be read and stopped.
    """

    demo: Any
    runs: Worker
    any_model: bool
    fetches: Worker
    questions: Questions
    jobs: Jobs


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
    """Return a component that renders itself in the browser; its value starts as None.

    A function, since Gradio writes a stub file beside every subclass of its components.

    Args:
        name: Its id on the page.
        module: Path of its module and skeleton in this folder, without an ending.
        config: What its module knows besides its name.
        classes: Its CSS classes.
        words: Our own words for [name] placeholders of the skeleton; never a visitor's text.
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
    """Return the note on a job's time limit. limit: in seconds."""
    return gr.HTML(f"<p>{limit_text(limit)}</p>", elem_classes="sv-bound", padding=False)


def script(name: str, module: str, config: Mapping[str, Any]) -> str:
    """Return the script that imports a part's module and starts it with its config.

    A long config is fetched once its tab is opened, so that the page stays small. Its "event" stays
    in the script: Gradio gives a component the events that its script names.
    """
    known = {"name": name} | dict(config)
    # Escape "<", since Gradio puts this text inside a script of the page.
    data = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
    if len(data) > LONGEST:
        event = {key: known[key] for key in ("event",) if key in known}
        data = FETCH % (json.dumps(event), json.dumps(config_address(name, data)))
    return START % (json.dumps(module_address(module)), data)


def css() -> str:
    """Return all style sheets of this folder; see `style_sheets`."""
    return style_sheets(HALF.rglob("*.css"))


def style_sheets(files: Iterable[Path]) -> str:
    """Return style sheets in the order of the numbers in their names.

    Before them are the rules for the states of a draft tree. Comments are left out.
    """
    ordered = sorted(files, key=lambda file: (file.name, file))
    text = "\n".join([state_rules(), *(file.read_text(encoding="utf-8") for file in ordered)])
    return re.sub(r"/\*.*?\*/\n?", "", text, flags=re.DOTALL)
