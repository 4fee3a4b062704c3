"""The whole page, and how it is launched. A tab appears only when it works."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from math import inf
from pkgutil import walk_packages
from time import monotonic, sleep
from typing import Any, Final

import gradio as gr

from specviz.adapters import gradio as adapter
from specviz.adapters.spaces import ZEROGPU
from specviz.compare.domains import choices
from specviz.settings.threads import shorten_busy_wait
from specviz.ui import api, learn, models
from specviz.ui.access import CAPACITY, Access, Sessions
from specviz.ui.broken import section, style
from specviz.ui.compare.race import lane
from specviz.ui.component import TabContext, css, header
from specviz.ui.jobs import Jobs
from specviz.ui.policy import LIMIT
from specviz.ui.questions import Questions
from specviz.ui.queue import LONGEST, Queue
from specviz.ui.server import app_kwargs
from specviz.ui.step import drawer, form
from specviz.ui.step import tab as step
from specviz.ui.stream import explained
from specviz.ui.tabs import TABS
from specviz.ui.task import Machine
from specviz.ui.worker import Worker, preload

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


# Events that Gradio runs at once. Queued ones hold no thread, but each counts as one.
THREADS: Final = LONGEST + 16
# Packages that tasks and questions import on first use.
ROOMS: Final = tuple(f"specviz.{room}" for room in ("engine", "trees", "bench", "compare", "ui"))
# Seconds between two polls of Gradio's queue, of which an event waits half on average; and between
# two for progress, which nothing here reports in Gradio's way.
LOOK: Final = 0.02
PROGRESS: Final = 1.0
LEAVING: Final = 1.0  # seconds that a run has to end when the server shuts down


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    allow_any_model: bool = False
    device: str | None = None
    dtype: str | None = None
    host: str | None = None
    port: int | None = None
    longest_run: float = LIMIT  # seconds
    allowed_host: tuple[str, ...] = ()
    embed_in: tuple[str, ...] = ()


class ServeError(ValueError):
    """The page cannot be served here; the message is a sentence."""


UNWRITABLE: Final = (
    "Gradio cannot write to its temporary folder ({}): set the environment variable "
    "GRADIO_TEMP_DIR to a folder that this user can write to."
)


def taken(options: Options) -> str:
    """Say that the address is not available."""
    at = f"port {options.port}" if options.port else "any port from 7860 on"
    return (
        f"The page cannot be served at {options.host or '127.0.0.1'}, {at}: the port is in use, or "
        "the address is not of this machine. Choose others with --port and --host."
    )


def build(
    options: Options,
    runs: Worker,
    fetches: Worker,
    questions: Questions | None = None,
    jobs: Jobs | None = None,
) -> gr.Blocks:
    """Build the page and wire its events.

    Args:
        options: The options of the command line.
        runs: Runs jobs on the machine.
        fetches: Downloads models; it has a separate queue.
        questions: Where sections answer the page's questions.
        jobs: Where sections' jobs can be read and stopped.
    """
    adapter.check_stub_files()
    demo: gr.Blocks
    with gr.Blocks(title="specviz", fill_width=True) as demo:
        header()
        wires = questions or Questions(), jobs or Jobs()
        place = TabContext(demo, runs, options.allow_any_model, fetches, *wires)
        section(learn.panel, place)
        with gr.Tabs(elem_id="sv-tabs"):
            with gr.Tab("Step"):
                fields = section(step.build, place)
            with gr.Tab("Learn"):
                section(learn.build, place)
            for name, parts in TABS.items():
                with gr.Tab(name):
                    for part in parts:
                        section(part.build, place)
            with gr.Tab("Models"):
                section(models.build, place, fields or {})

        sessions = Sessions(demo)

        async def leave(request: gr.Request) -> None:
            session = str(request.session_hash)
            runs.line.stop(session)  # runs of an API client; a page's may go on when it is reloaded
            sessions.part(session)

        api.add(demo, runs, options.allow_any_model)
        demo.unload(leave)
    demo.queue(max_size=64)
    adapter.poll_less_often(demo, LOOK, PROGRESS)
    adapter.explain_errors(demo, explained)
    return demo


def launch(options: Options) -> None:
    """Serve the page. Models are loaded once it is up; on ZeroGPU, before.

    Raises ServeError with a sentence. If interrupted, it lets active runs report that.
    """
    shorten_busy_wait()
    machine = Machine(options.device, options.dtype)
    runs, fetches = Worker(machine, options.longest_run), Worker(machine, inf)
    questions, jobs = Questions(), Jobs()
    try:
        demo = build(options, runs, fetches, questions, jobs)
    except OSError as problem:
        raise ServeError(UNWRITABLE.format(problem.strerror)) from problem
    # While one thread imports transformers, which replaces itself by a module of another kind, a
    # second thread can be given the first kind, in which nothing is found.
    import_module("transformers")
    if ZEROGPU:
        prepare(machine)
    try:
        arguments = adapter.launch_arguments(
            demo.launch, launch_arguments(options, questions, jobs)
        )
        demo.launch(**arguments, prevent_thread_lock=True)
    except OSError as problem:
        raise ServeError(taken(options)) from problem
    if not ZEROGPU:
        runs.warm_up()
    try:
        demo.block_thread()
    finally:
        close(runs.line, fetches.line)


def close(*lines: Queue) -> None:
    """Let all jobs end and report that to their pages, up to a timeout."""
    for line in lines:
        line.close()
    last = monotonic() + LEAVING
    while any(map(len, lines)) and monotonic() < last:
        sleep(0.05)


def prepare(machine: Machine) -> None:
    """Load all House models in this thread; at launch their weights are reserved for the GPU.

    Nothing computes with them in this process afterwards. All code is imported, too, since a
    process forked while another thread imports a module would wait for it forever.
    """
    for room in ROOMS:
        for found in walk_packages(import_module(room).__path__, f"{room}."):
            import_module(found.name)
    preload(machine, [name for _, name in choices()])


def launch_arguments(
    options: Options, questions: Questions | None = None, jobs: Jobs | None = None
) -> dict[str, Any]:
    """Return the fixed launch arguments: no browser storage, no uploads, no usage statistics.

    Raises ValueError with a sentence for an invalid allowed host or site.
    """
    access = Access.of(options.host, options.allowed_host, options.embed_in)
    return {
        "server_name": options.host,
        "server_port": options.port,
        "run_history": False,
        "ssr_mode": False,
        "state_session_capacity": CAPACITY,
        "enable_monitoring": False,
        "max_threads": THREADS,
        "max_file_size": "64kb",
        "mcp_server": False,
        "footer_links": [],
        "app_kwargs": app_kwargs(access, questions, jobs),
        "theme": gr.themes.Base(font=["Arial", "Helvetica", "sans-serif"], font_mono=["monospace"]),
        "css": css() + style(drawer.css, drawer.heads, drawer.fitting, form.css, lane.css),
    }
