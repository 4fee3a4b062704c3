"""A live job of a section: its start and stop buttons, and the output that its component receives.

Each kind of job has its own name in the queue, so Stop ends no other job of the visitor.
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
        page: The script object of its component, with `begin()` (which numbers the job), `stop()`
            and `ended()`.
        halt: The stop button.
        number: The field with the number of the job to stop.
    """

    name: str
    page: str
    halt: gr.Button
    number: gr.Number

    def visitor(self, request: gr.Request) -> str:
        """The visitor's name in the queue for this kind of job."""
        return f"{request.session_hash} {self.name}"


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a job.

    Attributes:
        button: Starts it.
        inputs: The components whose values it reads.
        wanted: Maps the inputs' values to the output; a ValueError's sentence is sent instead.
        values: JavaScript for the inputs' values.
    """

    button: gr.Button
    inputs: Sequence[Any]
    wanted: Callable[..., Texts]
    values: str = "values.slice(0, -1)"


def wire(runs: Worker, job: Job, view: gr.HTML, *starts: Start) -> None:
    """Connect the buttons to the job. view: receives its output."""

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
    job.halt.click(stop, job.number, js=js, queue=False, **PRIVATE)


def stream(job: Job, wanted: Callable[..., Texts]) -> Callable[..., AsyncGenerator[str, None]]:
    """Build the event handler that streams a job; its last value is the job's number."""

    async def told(request: gr.Request, *values: Any) -> AsyncGenerator[str, None]:
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

    return told
