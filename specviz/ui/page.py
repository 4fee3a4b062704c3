"""The whole page, and how it is served."""

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
from specviz.adapters.uvicorn import limit_header_time
from specviz.compare.domains import choices
from specviz.models.bounded_encoding import bind_foreign_tokenizers
from specviz.settings.threads import shorten_busy_wait
from specviz.ui import api, learn, models
from specviz.ui.access import Access, trust_no_unnamed_proxy
from specviz.ui.api_calls import ApiCalls
from specviz.ui.broken import section, style
from specviz.ui.component import TabContext, css, header
from specviz.ui.jobs import Jobs
from specviz.ui.limits import LIMIT
from specviz.ui.models import heads
from specviz.ui.queue import MAX_JOBS, Queue
from specviz.ui.server import app_kwargs
from specviz.ui.sessions import CAPACITY, Sessions
from specviz.ui.step import drawer, form
from specviz.ui.step import tab as step
from specviz.ui.step.recorded import opening
from specviz.ui.stream import explained
from specviz.ui.tabs import TABS
from specviz.ui.task import Machine
from specviz.ui.worker import Worker, preload

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


# Number of events that Gradio runs at the same time. Queued jobs hold no thread, but each one's
# event counts.
THREADS: Final = MAX_JOBS + 16
# Packages that tasks and answers import on first use.
ROOMS: Final = tuple(f"specviz.{room}" for room in ("engine", "trees", "bench", "compare", "ui"))
# Seconds between two polls of Gradio's queue, so an event waits half of it on average; and between
# two polls of progress, which nothing here reports through Gradio.
QUEUE_POLL: Final = 0.02
PROGRESS_POLL: Final = 1.0
HEADERS: Final = 15.0  # seconds until a request's headers are complete
LEAVING: Final = 1.0  # seconds that a run has to end when the server shuts down


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    allow_any_model: bool = False
    device: str | None = None
    dtype: str | None = None
    host: str | None = None
    port: int | None = None
    longest_run: float = LIMIT  # time limit of a job in seconds
    allowed_host: tuple[str, ...] = ()
    embed_in: tuple[str, ...] = ()
    metrics_from: str | None = None


class ServeError(ValueError):
    """Raised if the page cannot be served here; the message is a sentence."""


UNWRITABLE: Final = (
    "Gradio cannot write to its temporary folder ({}): set the environment variable "
    "GRADIO_TEMP_DIR to a folder that this user can write to."
)


def wanted_port(options: Options) -> int | None:
    """Return the port of the options or of Gradio's environment variable; None if any will do.

    Gradio would silently take the next free port if that of its variable is in use. Raises
    ServeError if the variable is not a port.
    """
    given = os.environ.get("GRADIO_SERVER_PORT")
    if options.port is not None or not given:
        return options.port
    if not given.isdecimal() or not 0 < int(given) < 65536:
        raise ServeError(f"GRADIO_SERVER_PORT must be a port, not {given!r:.40}.")
    return int(given)


def taken(options: Options) -> str:
    """Return the error for an address at which the page cannot be served."""
    port = wanted_port(options)
    at = f"port {port}" if port else "any port from 7860 on"
    return (
        f"The page cannot be served at {options.host or '127.0.0.1'}, {at}: the port is in use, or "
        "the address is not of this machine. Choose others with --port and --host."
    )


def build(
    options: Options,
    runs: Worker,
    fetches: Worker,
    jobs: Jobs | None = None,
    calls: ApiCalls | None = None,
) -> gr.Blocks:
    """Build the page and connect its events.

    Args:
        options: The options of the command line.
        runs: Runs jobs on the machine.
        fetches: Downloads models; this worker has a separate queue.
        jobs: The jobs of all sections, whose lines are sent to the page.
        calls: Limits the calls of the API function.
    """
    adapter.check_stub_files()
    demo: gr.Blocks
    with gr.Blocks(title="specviz", fill_width=True) as demo:
        header()
        place = TabContext(
            demo, runs, options.allow_any_model, fetches, jobs or Jobs(),
            metrics_from=options.metrics_from,
        )  # fmt: skip
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
            with gr.Tab("Models") as tab:
                section(heads.build, place)
                section(models.build, place, fields or {}, tab)

        api.add(runs, options.allow_any_model, calls or ApiCalls())
    demo.queue(max_size=64, api_open=False)  # no call skips the queue
    adapter.poll_less_often(demo, QUEUE_POLL, PROGRESS_POLL)
    adapter.explain_errors(demo, explained)
    adapter.skip_session_configs()
    adapter.pass_empty_sliders()
    return demo


def launch(options: Options) -> None:
    """Serve the page. Models are loaded after the server has started; on ZeroGPU, before.

    If interrupted, active runs report this to their pages before the server ends. Raises ServeError
    if the page cannot be served.
    """
    shorten_busy_wait()
    trust_no_unnamed_proxy()
    limit_header_time(HEADERS)
    if options.allow_any_model:
        bind_foreign_tokenizers()
    machine = Machine(options.device, options.dtype)
    runs, fetches = Worker(machine, options.longest_run), Worker(machine, inf)
    jobs, calls = Jobs(), ApiCalls()
    try:
        demo = build(options, runs, fetches, jobs, calls)
    except OSError as problem:
        raise ServeError(UNWRITABLE.format(problem.strerror)) from problem
    # While one thread imports transformers, which replaces itself by another kind of module, a
    # second thread could get the first kind, which has no attributes.
    import_module("transformers")
    if ZEROGPU:
        prepare(machine)
    try:
        wanted = launch_arguments(options, jobs, Sessions(demo), calls)
        arguments = adapter.launch_arguments(demo.launch, wanted)
        demo.launch(**arguments, prevent_thread_lock=True)
    except OSError as problem:
        raise ServeError(taken(options)) from problem
    if not ZEROGPU:
        runs.warm_up(opening())
    try:
        demo.block_thread()
    finally:
        close(runs.line, fetches.line)


def close(*lines: Queue) -> None:
    """Let all jobs end and report this to their pages, up to a timeout."""
    for line in lines:
        line.close()
    last = monotonic() + LEAVING
    while any(map(len, lines)) and monotonic() < last:
        sleep(0.05)


def prepare(machine: Machine) -> None:
    """Load all House models in this thread; when the app starts, ZeroGPU reserves their weights.

    This process does not compute with them. All code is also imported, since a process that is
    forked while another thread imports a module would wait for this import forever.
    """
    for room in ROOMS:
        for found in walk_packages(import_module(room).__path__, f"{room}."):
            import_module(found.name)
    preload(machine, [name for _, name in choices()])


def launch_arguments(
    options: Options,
    jobs: Jobs | None = None,
    sessions: Sessions | None = None,
    calls: ApiCalls | None = None,
) -> dict[str, Any]:
    """Return arguments without storage, uploads or statistics. ValueError for an invalid host."""
    access = Access.of(options.host, options.allowed_host, options.embed_in)
    return {
        "server_name": options.host,
        "server_port": wanted_port(options),
        "run_history": False,
        "ssr_mode": False,
        "state_session_capacity": CAPACITY,
        "enable_monitoring": False,
        "max_threads": THREADS,
        "max_file_size": "64kb",
        "mcp_server": False,
        "footer_links": [],
        "app_kwargs": app_kwargs(access, jobs, sessions, calls),
        "theme": gr.themes.Base(font=["Arial", "Helvetica", "sans-serif"], font_mono=["monospace"]),
        "css": css() + style(drawer.css, drawer.heads, drawer.fitting, form.css),
    }
