"""The whole page, and how it is launched. A tab appears only when it works."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from specviz.ui import controls
from specviz.ui.choices import Choices
from specviz.ui.player import css, player
from specviz.ui.recorded import names
from specviz.ui.runs import Machine, Runs
from specviz.ui.server import app_kwargs

PLAYER: Final = "sv-step"
# The page numbers its runs, so that Stop means one of them, even while it waits for its turn.
BEGIN: Final = (
    f"(...values) => [...values.slice(0, -1), window.specviz.players['{PLAYER}'].begin()]"
)
STOP: Final = f"() => window.specviz.players['{PLAYER}'].stop()"
ENDED: Final = f"() => {{ window.specviz.players['{PLAYER}'].ended() }}"
LINKED: Final = """() => {
  const names = %s, asked = new URLSearchParams(location.search).get('trace');
  return names.includes(asked) ? asked : names[0] ?? null;
}"""
LOAD: Final = f"(name) => {{ window.specviz.players['{PLAYER}'].load(name) }}"


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
        gr.HTML('<h1 class="sv-brand">specviz</h1>', elem_id="sv-brand")
        with gr.Tabs(elem_id="sv-tabs"), gr.Tab("Step"):
            form = controls.build(options.allow_any_model)
            view = player(PLAYER)

        def live(request: gr.Request, *values: Any) -> Iterator[str]:
            *filled, number = values
            yield from runs.texts(Choices(*filled), str(request.session_hash), float(number))

        def stop(number: float, request: gr.Request) -> None:
            runs.stops.ask(str(request.session_hash), float(number))

        def leave(request: gr.Request) -> None:
            runs.stops.leave(str(request.session_hash))

        private: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        form.run.click(
            live,
            [*form.inputs, form.number],
            view,
            js=BEGIN,
            concurrency_id="run",
            concurrency_limit=1,
            **private,
        ).then(None, js=ENDED, **private)
        form.stop.click(stop, form.number, js=STOP, queue=False, **private)
        form.recorded.select(None, form.recorded, js=LOAD, **private)
        demo.load(None, None, form.recorded, js=LINKED % json.dumps(list(names())), **private)
        demo.unload(leave)
    demo.queue(max_size=64)
    return demo


def launch(options: Options) -> None:
    """Serve the page; the models are loaded once it is up."""
    runs = Runs(Machine(options.device, options.dtype))
    demo = build(options, runs)
    demo.launch(**launch_arguments(options), prevent_thread_lock=True)
    threading.Thread(target=runs.warm_up, daemon=True).start()
    demo.block_thread()


def launch_arguments(options: Options) -> dict[str, Any]:
    """How the app is always launched: nothing kept in browsers, nothing uploaded or counted."""
    return {
        "server_name": options.host,
        "server_port": options.port,
        "run_history": False,
        "ssr_mode": False,
        "state_session_capacity": 200,
        "enable_monitoring": False,
        "max_file_size": "64kb",
        "mcp_server": False,
        "footer_links": ["settings"],
        "app_kwargs": app_kwargs(),
        "theme": gr.themes.Base(font=["Arial", "Helvetica", "sans-serif"], font_mono=["monospace"]),
        "css": css(),
    }
