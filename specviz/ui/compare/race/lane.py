"""The settings of one lane in Step's own fields: the same labels, sliders and words.

Rule: a lane's settings are a text, which the fields are filled in from and write; what a drafter
does not read is hidden, and a drafter that is picked comes with what suits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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


def fields() -> list[Any]:
    """The fields of the lane that is edited, in the order of `rows`."""
    with group("Settings", FIELDS):
        return list(boxes("drafting", Settings(), FORM).values())


def wire(lanes: Sequence[Any], editors: Sequence[gr.Button], made: Sequence[Any]) -> None:
    """Let each lane's button open the fields, and let them write that lane's text.

    lanes: lane by lane, its drafter and its text. made: the fields.
    """
    both = [*lanes, *made]
    shown = {"inputs": lanes, "outputs": made, "js": f"(...lanes) => {OURS}.fields(lanes)"}
    for place, editor in enumerate(editors):
        method, typed = lanes[2 * place : 2 * place + 2]
        js = f"(...lanes) => {OURS}.edit({place}, lanes)"
        editor.click(None, lanes, made, js=js, **PRIVATE)
        # Only a visitor's own pick changes settings: a preset or a recorded race brings its own.
        picked = method.input(None, method, typed, js=f"(name) => {OURS}.suits(name)", **PRIVATE)
        picked.then(None, **shown, **PRIVATE)
    js = f"(...both) => {OURS}.write(both)"
    told = [field.input for field in made]
    # A box to type in hears no pasting and no backspace until it is left.
    told += [field.blur for field in made if isinstance(field, gr.Textbox)]
    gr.on(told, None, both, lanes, js=js, **PRIVATE)


def rows() -> list[dict[str, Any]]:
    """What the script knows of each field: how it is typed and said, and where it stands in a text.

    always: a text says it though it is nothing; quiet: only where it is not as usual.
    """
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
    """The style that hides what the edited lane's drafter does not read, and who fits no lane."""
    return drawer.css(FIELDS, FORM) + drawer.fitting(f"{FORM}-drawer")
