"""Edit the settings of one lane in the same fields as on the Step tab.

A lane's settings are stored as text: the text fills in the fields, and changes in the fields update
the text. Settings that the drafter does not read are hidden. If another drafter is chosen, its
default settings are filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict

import gradio as gr

from specviz.settings.settings import Settings
from specviz.settings.specs import page_fields
from specviz.ui.compare.race.request import QUIET
from specviz.ui.component import browser_object
from specviz.ui.live import PRIVATE
from specviz.ui.step import drawer
from specviz.ui.step.drawer import boxes, group

OURS: Final = browser_object("sv-raceform-settings")
FIELDS: Final = "sv-raceform-fields"
FORM: Final = "sv-raceform"


class Field(TypedDict):
    """A field as the script needs it: how its value is written and summarized, and its order.

    Attributes:
        always: Whether the value is written even if it is 0.
        quiet: Whether the value is written only if it differs from the default.
    """

    name: str
    kind: str
    brief: str
    instead: str
    always: bool
    quiet: bool
    place: int


def fields() -> list[Any]:
    """Return the fields of the lane being edited, in the order of `rows`."""
    with group("Settings", FIELDS):
        return list(boxes("drafting", Settings(), FORM).values())


def wire(lanes: Sequence[Any], editors: Sequence[gr.Button], made: Sequence[Any]) -> None:
    """Connect each lane's button to the fields, and the fields to the lane's text.

    Args:
        lanes: The drafter list and the text box of each lane.
        editors: The button of each lane.
        made: The fields.
    """
    both = [*lanes, *made]
    shown = {"inputs": lanes, "outputs": made, "js": f"(...lanes) => {OURS}.fields(lanes)"}
    for place, editor in enumerate(editors):
        method, typed = lanes[2 * place : 2 * place + 2]
        js = f"(...lanes) => {OURS}.edit({place}, lanes)"
        editor.click(None, lanes, made, js=js, **PRIVATE)
        # Settings are reset only if a visitor chooses the drafter: presets and recorded races have
        # their own settings.
        picked = method.input(None, method, typed, js=f"(name) => {OURS}.suits(name)", **PRIVATE)
        picked.then(None, **shown, **PRIVATE)
    js = f"(...both) => {OURS}.write(both)"
    events = [field.input for field in made]
    # A textbox sends no input event for pasting or backspace, so the event blur is used, too.
    events += [field.blur for field in made if isinstance(field, gr.Textbox)]
    gr.on(events, None, both, lanes, js=js, **PRIVATE)


def rows() -> list[Field]:
    """Return descriptions of the fields for the script."""
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
    """Return a style that hides unread settings, and drafters that do not fit."""
    return drawer.css(FIELDS, FORM) + drawer.fitting(f"{FORM}-drawer")
