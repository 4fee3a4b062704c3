"""The settings of one lane in Step's fields: the same labels and sliders.

A lane's settings are stored as text, which fills in the fields and is written by them. Settings
that a drafter does not read are hidden; a newly chosen drafter comes with its default settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict

import gradio as gr

from specviz.settings.settings import Settings
from specviz.settings.specs import page_fields
from specviz.ui.compare.race.request import QUIET
from specviz.ui.live import PRIVATE
from specviz.ui.step import drawer
from specviz.ui.step.drawer import boxes, group

OURS: Final = "window.specviz.raceform"
FIELDS: Final = "sv-raceform-fields"
FORM: Final = "sv-raceform"


class Field(TypedDict):
    """A field for the script: how it is typed and summarized, and its order.

    Attributes:
        always: Written even if it is 0.
        quiet: Written only if it differs from the default.
    """

    name: str
    kind: str
    brief: str
    instead: str
    always: bool
    quiet: bool
    place: int


def fields() -> list[Any]:
    """The fields of the lane being edited, in the order of `rows`."""
    with group("Settings", FIELDS):
        return list(boxes("drafting", Settings(), FORM).values())


def wire(lanes: Sequence[Any], editors: Sequence[gr.Button], made: Sequence[Any]) -> None:
    """Let each lane's button open the fields, and let the fields write that lane's text.

    lanes: the drafter and the text of each lane. made: the fields.
    """
    both = [*lanes, *made]
    shown = {"inputs": lanes, "outputs": made, "js": f"(...lanes) => {OURS}.fields(lanes)"}
    for place, editor in enumerate(editors):
        method, typed = lanes[2 * place : 2 * place + 2]
        js = f"(...lanes) => {OURS}.edit({place}, lanes)"
        editor.click(None, lanes, made, js=js, **PRIVATE)
        # Only a visitor's choice resets the settings: presets and recorded races bring their own.
        picked = method.input(None, method, typed, js=f"(name) => {OURS}.suits(name)", **PRIVATE)
        picked.then(None, **shown, **PRIVATE)
    js = f"(...both) => {OURS}.write(both)"
    events = [field.input for field in made]
    # A textbox sends no input event for pasting or backspace, so also listen to blur.
    events += [field.blur for field in made if isinstance(field, gr.Textbox)]
    gr.on(events, None, both, lanes, js=js, **PRIVATE)


def rows() -> list[Field]:
    """Describe the fields for the script."""
    order = list(Settings().to_json())
    return [
        {
            "name": row.name,
            "kind": row.kind.name,
            "brief": row.brief,
            "instead": row.replaces,
            "always": row.at_depth is not None,
            "quiet": row.name in QUIET,
            "place": order.index(row.name),
        }
        for row in page_fields("drafting")
    ]


def css() -> str:
    """Style that hides settings that the drafter does not read, and drafters that do not fit."""
    return drawer.css(FIELDS, FORM) + drawer.fitting(f"{FORM}-drawer")
