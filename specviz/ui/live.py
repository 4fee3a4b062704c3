"""A live job of a section: a start button, a stop button, and a story that its part listens to.

Rule: each kind of job has a name of its own in the line, so Stop ends no other of the visitor's.
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


Texts = Callable[[str, float], AsyncGenerator[str, None]]  # (visitor, number) -> the grown text


@dataclass(frozen=True, slots=True)
class Job:
    """name: in the line, after the visitor's. page: the part's object in the browser's script,
    which has `begin()` (the page numbers its jobs), `stop()` and `ended()`.
    """

    name: str
    page: str
    halt: gr.Button
    number: gr.Number

    def visitor(self, request: gr.Request) -> str:
        """Whose job it is, in the line."""
        return f"{request.session_hash} {self.name}"


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a job.

    wanted: the inputs' values -> the story; a ValueError's sentence is told instead of one.
    values: the inputs' values as the page sends them, in the browser's script.
    """

    button: gr.Button
    inputs: Sequence[Any]
    wanted: Callable[..., Texts]
    values: str = "values.slice(0, -1)"


def wire(runs: Worker, job: Job, view: gr.HTML, *starts: Start) -> None:
    """Let the buttons start and stop the job. view: hears its story."""

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
    """A handler of an event whose values say what is `wanted`; the last is the page's number."""

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
