"""Live jobs of a section: a start button, whose event only starts a job.

The job's lines are sent, and it is stopped, by routes of our own (`jobs`). The start is an event of
Gradio, because Gradio sends the form's values, and because a ZeroGPU Space lends a GPU only for
such a request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.ui.component import TabContext, browser_object, component
from specviz.ui.jobs import Jobs
from specviz.ui.task import Task
from specviz.ui.worker import Worker

# Without an own list, each event updates the hidden status of all outputs of all events.
PRIVATE: Final[dict[str, Any]] = {
    "show_progress": "hidden",
    "show_progress_on": [],
    "api_visibility": "private",
}
MAX_NAME: Final = 70_000  # maximum characters of a job's name with the page's own request
INVALID: Final = "This call does not name a job of the page."

# Creates the task, given the stream of its lines and the values of a form; None if the stream
# already has the lines.
Wanted = Callable[..., Task | None]


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a job.

    Attributes:
        button: The start button.
        wanted: Creates the task from the stream and the inputs' values; the sentence of an error is
            written to the stream.
        request: JavaScript expression of another value, which is sent after the inputs.
    """

    button: gr.Button
    inputs: Sequence[Any]
    wanted: Wanted
    request: str = ""


def wire(jobs: Jobs, worker: Worker, view: gr.HTML, page: str, *starts: Start) -> None:
    """Connect start buttons to a job.

    Args:
        jobs: The jobs whose lines the page can read.
        worker: Runs the job.
        view: The section's component; the page sends the job's name as its value.
        page: The section's object in the browser, with `begin()`, which names a job, and `ended()`.
        starts: The buttons.
    """
    for start in starts:
        name = f"JSON.stringify([...{page}.begin(), {start.request}])"
        event = start.button.click(
            starting(jobs, worker, start.wanted),
            [*start.inputs, view],
            js=f"(...values) => [...values.slice(0, -1), {name}]",
            concurrency_limit=None,
            **PRIVATE,
        )
        event.failure(None, js=f"() => {{ {page}.ended() }}", **PRIVATE)


def job_view(
    place: TabContext,
    name: str,
    labels: Sequence[str],
    wanted: Callable[..., Task],
    inputs: Sequence[Any],
    worker: Worker | None = None,
) -> gr.HTML:
    """Build a button that starts and stops a job, and what says how far it is.

    Its lines are made by `stream.progress`. Those with a result are an event of the component,
    `result`, with its `value`. If the component's value is "hidden", so is the button while no job
    is active.

    Args:
        place: Where it is built.
        name: Its id on the page.
        labels: What the button says, and what it says while a job is active.
        wanted: Creates the task from the inputs' values.
        inputs: Components whose values are sent.
        worker: Runs the job; by default `place.runs`.
    """
    view = component(name, "shared/job_view", {"event": "result", "labels": labels})
    go = gr.Button(labels[0], elem_id=f"{name}-go", elem_classes="sv-hidden")
    start = Start(go, inputs, lambda _, *values: wanted(*values))
    wire(place.jobs, worker or place.runs, view, browser_object(name), start)
    return view


def starting(jobs: Jobs, worker: Worker, wanted: Wanted) -> Callable[..., Any]:
    """Return the event handler that starts a job."""

    async def start_job(*values: Any) -> None:
        *filled, name = values
        page, number, *request = parse_name(name)
        stream = jobs.open(page, number)
        try:
            task = wanted(stream, *filled, *request)
            under_way = None if task is None else worker.start(task, stream)
        except Exception as problem:
            stream.fail(problem)
            return
        if ZEROGPU and under_way is not None:
            # While the event waits for a GPU, the package `spaces` checks whether the event is
            # still open.
            await under_way

    return start_job


def parse_name(text: Any) -> tuple[Any, ...]:
    """Parse a page's key, its number of a job and the page's own request, or raise ValueError."""
    try:
        if len(text) > MAX_NAME:
            raise ValueError(INVALID)
        page, number, *request = json.loads(text)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(INVALID) from problem
    if not (isinstance(page, str) and isinstance(number, int) and len(request) <= 1):
        raise ValueError(INVALID)
    return page, number, *request
