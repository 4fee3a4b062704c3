"""The Step tab: the form, the player, and live runs between them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

import gradio as gr

from specviz.ui.component import TabContext
from specviz.ui.request import RunRequest
from specviz.ui.step import form as controls
from specviz.ui.step.choices import Choices
from specviz.ui.step.choices import names as field_names
from specviz.ui.step.player import player
from specviz.ui.step.recorded import names
from specviz.ui.stream import error
from specviz.ui.worker import Worker

PLAYER: Final = "sv-step"


# The page numbers its runs, so that Stop means one of them, even while it waits for its turn.
BEGIN: Final = (
    f"(...values) => [...values.slice(0, -1), window.specviz.players['{PLAYER}'].begin()]"
)


STOP: Final = f"() => window.specviz.players['{PLAYER}'].stop()"
ENDED: Final = f"() => {{ window.specviz.players['{PLAYER}'].ended() }}"
LINKED: Final = f"""async (...filled) => {{
  const names = %s, asked = new URLSearchParams(location.search).get('trace');
  if (!names.includes(asked)) return [names[0] ?? null, ...filled];
  const player = () => window.specviz?.players?.['{PLAYER}'];
  while (!player()) await new Promise((done) => setTimeout(done, 50));
  return [asked, ...((await player().opened) ?? filled)];
}}"""


# The form follows the run that is chosen, unless there is none.
LOAD: Final = f"""async (name, ...filled) =>
  (await window.specviz.players['{PLAYER}'].load(name)) ?? filled"""


BRANCH: Final = f"""() =>
  [window.specviz.players['{PLAYER}'].wish(), window.specviz.players['{PLAYER}'].begin()]"""


PRIVATE: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def build(place: TabContext) -> None:
    """Lay the tab out, with everything wired."""
    demo, runs, any_model = place.demo, place.runs, place.any_model
    form = controls.build(any_model, demo.load)
    view = player(PLAYER)
    wish = gr.Textbox(visible=False)
    branch = gr.Button("Run it from here", elem_id="sv-branch", elem_classes="sv-hidden")

    async def stop(number: float, request: gr.Request) -> None:
        runs.line.stop(str(request.session_hash), float(number))

    def chosen(*values: Any) -> RunRequest:
        filled = dict(zip(form.inputs, values, strict=True))
        return Choices.from_form(filled).wish().allowed(any_model)

    from_form = streaming(runs, chosen)
    from_text = streaming(runs, lambda text: RunRequest.from_text(text, any_model))
    for button, stream, inputs, js in (
        (form.run, from_form, [*form.inputs.values(), form.number], BEGIN),
        (branch, from_text, [wish, form.number], BRANCH),
    ):
        event = button.click(stream, inputs, view, js=js, concurrency_limit=None, **PRIVATE)
        event.then(None, js=ENDED, **PRIVATE)
    form.stop.click(stop, form.number, js=STOP, queue=False, **PRIVATE)
    usual = [form.inputs[name] for name in field_names()]
    form.recorded.select(None, [form.recorded, *usual], usual, js=LOAD, **PRIVATE)
    linked = LINKED % json.dumps(list(names()))
    demo.load(None, usual, [form.recorded, *usual], js=linked, **PRIVATE)


def streaming(
    runs: Worker, wanted: Callable[..., RunRequest]
) -> Callable[..., AsyncGenerator[str, None]]:
    """A handler of an event whose values say what is `wanted`; the last is the page's number."""

    async def stream(request: gr.Request, *values: Any) -> AsyncGenerator[str, None]:
        *said, number = values
        try:
            wish = wanted(*said)
        except ValueError as problem:
            yield error(str(problem), f"{float(number):.0f}")
            return
        story = runs.texts(wish, str(request.session_hash), float(number))
        async with aclosing(story) as texts:
            async for text in texts:
                yield text

    return stream
