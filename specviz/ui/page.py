"""The whole page, and how it is launched. A tab appears only when it works."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from specviz.ui import api, controls
from specviz.ui.choices import Choices
from specviz.ui.header import header
from specviz.ui.line import LONGEST
from specviz.ui.player import css, player
from specviz.ui.recorded import names
from specviz.ui.reel import error
from specviz.ui.runs import Machine, Runs
from specviz.ui.server import app_kwargs
from specviz.ui.wish import Wish

PLAYER: Final = "sv-step"
# Events that Gradio lets go on at once. Those in line hold no thread, but each counts as one.
THREADS: Final = LONGEST + 16
# The page numbers its runs, so that Stop means one of them, even while it waits for its turn.
BEGIN: Final = (
    f"(...values) => [...values.slice(0, -1), window.specviz.players['{PLAYER}'].begin()]"
)
STOP: Final = f"() => window.specviz.players['{PLAYER}'].stop()"
ENDED: Final = f"() => {{ window.specviz.players['{PLAYER}'].ended() }}"
LINKED: Final = f"""async (...filled) => {{
  const names = %s, asked = new URLSearchParams(location.search).get('trace');
  if (!names.includes(asked)) return [names[0] ?? null, ...filled];
  const player = () => (window.specviz || {{ players: {{}} }}).players['{PLAYER}'];
  while (!player()) await new Promise((done) => setTimeout(done, 50));
  return [asked, ...((await player().opened) ?? filled)];
}}"""
# The form follows the run that is chosen, unless there is none.
LOAD: Final = f"""async (name, ...filled) =>
  (await window.specviz.players['{PLAYER}'].load(name)) ?? filled"""
BRANCH: Final = f"""() =>
  [window.specviz.players['{PLAYER}'].wish(), window.specviz.players['{PLAYER}'].begin()]"""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line decides."""

    allow_any_model: bool = False
    device: str | None = None
    dtype: str | None = None
    host: str | None = None
    port: int | None = None


def build(options: Options, runs: Runs) -> gr.Blocks:
    """The page with everything wired."""
    demo: gr.Blocks
    with gr.Blocks(title="specviz", fill_width=True) as demo:
        header()
        with gr.Tabs(elem_id="sv-tabs"), gr.Tab("Step"):
            form = controls.build(options.allow_any_model, demo.load)
            view = player(PLAYER)
            wish = gr.Textbox(visible=False)
            branch = gr.Button("Run it from here", elem_id="sv-branch", elem_classes="sv-hidden")

        async def stop(number: float, request: gr.Request) -> None:
            runs.line.stop(str(request.session_hash), float(number))

        async def leave(request: gr.Request) -> None:
            runs.line.part(str(request.session_hash))

        private: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        any_model = options.allow_any_model
        from_form = streaming(runs, lambda *filled: Choices(*filled).wish().allowed(any_model))
        from_text = streaming(runs, lambda text: Wish.from_text(text, any_model))
        for button, stream, inputs, js in (
            (form.run, from_form, [*form.inputs, form.number], BEGIN),
            (branch, from_text, [wish, form.number], BRANCH),
        ):
            event = button.click(stream, inputs, view, js=js, concurrency_limit=None, **private)
            event.then(None, js=ENDED, **private)
        form.stop.click(stop, form.number, js=STOP, queue=False, **private)
        usual = form.inputs[:-2] if options.allow_any_model else form.inputs
        form.recorded.select(None, [form.recorded, *usual], usual, js=LOAD, **private)
        api.add(runs, options.allow_any_model)
        linked = LINKED % json.dumps(list(names()))
        demo.load(None, usual, [form.recorded, *usual], js=linked, **private)
        demo.unload(leave)
    demo.queue(max_size=64)
    return demo


def streaming(runs: Runs, wanted: Callable[..., Wish]) -> Callable[..., AsyncGenerator[str, None]]:
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


def launch(options: Options) -> None:
    """Serve the page; the models are loaded once it is up."""
    runs = Runs(Machine(options.device, options.dtype))
    demo = build(options, runs)
    demo.launch(**launch_arguments(options), prevent_thread_lock=True)
    threading.Thread(target=runs.warm_up, daemon=True).start()
    try:
        demo.block_thread()
    finally:
        runs.line.close()


def launch_arguments(options: Options) -> dict[str, Any]:
    """How the app is always launched: nothing kept in browsers, nothing uploaded or counted."""
    return {
        "server_name": options.host,
        "server_port": options.port,
        "run_history": False,
        "ssr_mode": False,
        "state_session_capacity": 200,
        "enable_monitoring": False,
        "max_threads": THREADS,
        "max_file_size": "64kb",
        "mcp_server": False,
        "footer_links": [],
        "app_kwargs": app_kwargs(),
        "theme": gr.themes.Base(font=["Arial", "Helvetica", "sans-serif"], font_mono=["monospace"]),
        "css": css(),
    }
