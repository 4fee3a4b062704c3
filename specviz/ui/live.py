"""Live jobs of a section: a start button, whose event starts a job, and nothing more.

The job's lines reach the page by a route (`jobs`), and so does its stop. The start stays an event
of Gradio, which sends the form's values, and by whose request a ZeroGPU Space lends a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.ui.jobs import Jobs
from specviz.ui.task import Task
from specviz.ui.worker import Worker

PRIVATE: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
LONGEST: Final = 70_000  # characters of a job's name with the page's own request
INVALID: Final = "This call does not name a job of the page."

# A stream and the values of a form -> the task whose lines it gets; None if it has them already.
Wanted = Callable[..., Task | None]


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a job.

    Attributes:
        button: The start button.
        inputs: Components whose values are sent.
        wanted: Turns the stream and their values into the task; the stream gets the sentence of an
            error.
        request: A value of the page's script that is sent after those, in JavaScript.
    """

    button: gr.Button
    inputs: Sequence[Any]
    wanted: Wanted
    request: str = ""


def wire(jobs: Jobs, worker: Worker, view: gr.HTML, page: str, *starts: Start) -> None:
    """Connect start buttons to a job.

    Args:
        jobs: Where the job's lines can be read.
        worker: Computes the job.
        view: The section, in whose place the page sends the job's name.
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
            # While it waits for a GPU, the package `spaces` looks whether this event is open.
            await under_way

    return start_job


def parse_name(text: Any) -> tuple[Any, ...]:
    """Return a page's key, its number of a job, and the page's own request if there is one.

    Raises ValueError with a sentence.
    """
    try:
        if len(text) > LONGEST:
            raise ValueError(INVALID)
        page, number, *request = json.loads(text)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(INVALID) from problem
    if not (isinstance(page, str) and isinstance(number, int) and len(request) <= 1):
        raise ValueError(INVALID)
    return page, number, *request
