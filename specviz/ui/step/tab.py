"""The Step tab: the form, the player, and live runs between them."""

from __future__ import annotations

import json
from typing import Any, Final

import gradio as gr

from specviz.ui.component import TabContext, browser_object
from specviz.ui.live import PRIVATE, Start, wire
from specviz.ui.request import RunRequest
from specviz.ui.step import form as controls
from specviz.ui.step.again import Memory
from specviz.ui.step.choices import Choices
from specviz.ui.step.choices import names as field_names
from specviz.ui.step.player import player
from specviz.ui.step.recorded import names
from specviz.ui.step.repeat import repeated
from specviz.ui.step.tour import intro
from specviz.ui.stream import Stream
from specviz.ui.task import Task

PLAYER: Final = "sv-step"


OURS: Final = browser_object(PLAYER)
LINKED: Final = f"""async (...filled) => {{
  const names = %s, asked = new URLSearchParams(location.search).get('trace');
  const player = () => window.specviz?.['{PLAYER}'];
  while (!player()) await new Promise((done) => setTimeout(done, 50));
  const chosen = names.includes(asked) ? asked : (names[0] ?? null);
  return [chosen, ...((await player().opened) ?? filled)];
}}"""


# Fills in the form with the settings of the chosen run, if there is one.
LOAD: Final = f"""async (name, ...filled) =>
  (await {OURS}.load(name)) ?? filled"""


# Fills in the form with the settings of the run on screen, which came from a link, a lesson or a
# file.
FILL: Final = f"() => {OURS}.formOnScreen()"


def build(place: TabContext) -> dict[str, Any]:
    """Build the tab and connect its events; return the form's fields by name."""
    demo, runs, any_model = place.demo, place.runs, place.any_model
    memory = Memory()
    intro()
    form = controls.build(any_model, runs.limit, demo.load)
    view = player(PLAYER)
    fill = gr.Button("Use its settings", elem_id="sv-fill", elem_classes="sv-hidden")
    branch = gr.Button("Run it from here", elem_id="sv-branch", elem_classes="sv-hidden")
    repeat = gr.Button("Repeat until stable", elem_id="sv-repeat-run", elem_classes="sv-hidden")

    def from_form(stream: Stream, *values: Any) -> Task | None:
        filled = dict(zip(form.inputs, values, strict=True))
        return memory.task(runs, Choices.from_form(filled).request().allowed(any_model), stream)

    def from_text(stream: Stream, text: str) -> Task | None:
        return memory.task(runs, RunRequest.from_text(text, any_model), stream)

    def from_run(_stream: Stream, text: str) -> Task:
        return repeated(RunRequest.from_text(text, any_model))

    filled = Start(form.run, list(form.inputs.values()), from_form)
    branched = Start(branch, [], from_text, f"{OURS}.branchRequest()")
    again = Start(repeat, [], from_run, f"{OURS}.same()")
    wire(place.jobs, runs, view, OURS, filled, branched, again)
    form.stop.click(None, js=f"() => {{ {OURS}.stop() }}", **PRIVATE)
    usual = [form.inputs[name] for name in field_names()]
    form.recorded.select(None, [form.recorded, *usual], usual, js=LOAD, **PRIVATE)
    fill.click(None, None, [form.recorded, *usual], js=FILL, **PRIVATE)
    linked = LINKED % json.dumps(list(names()))
    demo.load(None, usual, [form.recorded, *usual], js=linked, **PRIVATE)
    return form.inputs
