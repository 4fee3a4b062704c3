"""A live job of a section: a start button, a stop button, and a stream of output.

Each kind of job has its own name in the queue, so Stop ends only that job of the visitor.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.settings.value_types import parse_number
from specviz.ui.stream import error
from specviz.ui.worker import Worker

NUMBER: Final = "The number of a job"
PRIVATE: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


Texts = Callable[[str, float], AsyncGenerator[str, None]]  # (visitor, number) -> the growing text


@dataclass(frozen=True, slots=True)
class Job:
    """A kind of job.

    Attributes:
        name: Its name in the queue, after the visitor's.
        page: The part's object in the browser, with `begin()` (which numbers the jobs), `stop()`
            and `ended()`.
        stop: The stop button.
        number: Receives the job's number.
    """

    name: str
    page: str
    stop: gr.Button
    number: gr.Number

    def visitor(self, request: gr.Request) -> str:
        """Return the job's owner as the queue names it."""
        return f"{request.session_hash} {self.name}"


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a job.

    Attributes:
        button: The start button.
        inputs: Components whose values are sent.
        wanted: Turns their values into the output; a ValueError's sentence is shown instead.
        values: The values as the page sends them, in JavaScript.
    """

    button: gr.Button
    inputs: Sequence[Any]
    wanted: Callable[..., Texts]
    values: str = "values.slice(0, -1)"


def wire(runs: Worker, job: Job, view: gr.HTML, *starts: Start) -> None:
    """Connect the buttons to the job. `view` receives its output."""

    async def stop(number: float, request: gr.Request) -> None:
        runs.line.stop(job.visitor(request), parse_number(NUMBER, number))

    for start in starts:
        begin = f"(...values) => [...{start.values}, {job.page}.begin()]"
        filled = [*start.inputs, job.number]
        event = start.button.click(
            stream(job, start.wanted), filled, view, js=begin, concurrency_limit=None, **PRIVATE
        )
        event.then(None, js=f"() => {{ {job.page}.ended() }}", **PRIVATE)
    js = f"() => {job.page}.stop()"
    job.stop.click(stop, job.number, js=js, queue=False, **PRIVATE)


def stream(job: Job, wanted: Callable[..., Texts]) -> Callable[..., AsyncGenerator[str, None]]:
    """Return an event handler; its last value is the page's number of the job."""

    async def stream_job(request: gr.Request, *values: Any) -> AsyncGenerator[str, None]:
        *said, last = values
        number = parse_number(NUMBER, last)
        try:
            texts = wanted(*said)
        except ValueError as problem:
            yield error(str(problem), f"{number:.0f}")
            return
        async with aclosing(texts(job.visitor(request), number)) as story:
            async for text in story:
                yield text

    return stream_job
