"""A live run: from a request to the player's lines, or to the text of its trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from specviz.trace.events import Event, Finished
from specviz.trace.file import dumps
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.choices import HintLine, hint
from specviz.ui.step.lines import lines
from specviz.ui.stream import BaselineNext, line, paced
from specviz.ui.task import JobContext, Task, gpu_seconds

if TYPE_CHECKING:
    from specviz.models.target import Target


def shown(request: RunRequest) -> Task:
    """Build the task that streams a run to the page."""
    return Task(partial(stream_run, request), seconds(request))


def recorded(request: RunRequest) -> Task:
    """Build the task that returns a run as the text of a trace file."""
    return Task(partial(record, request), seconds(request))


def seconds(request: RunRequest) -> float:
    """Return the GPU seconds of a run, which decodes the text twice, the second time plainly."""
    return gpu_seconds(request.target, 2 * request.settings.max_new_tokens)


def stream_run(request: RunRequest, context: JobContext) -> Iterator[str]:
    """Load the models and run; when all times are measured, add the notice about the prompt."""
    yield context.says("loading")
    target, (drafter,) = context.load(request.target, [request.drafter])
    if context.unwanted():
        return
    yield context.says("drafting")
    from specviz import engine

    run = engine.run_stepwise(
        target, drafter, request.prompt, request.settings, stop=context.unwanted
    )
    with closing(run) as events:
        yield from paced(lines(events, "live", context.nonce, (request.target, request.drafter)))
    if request.target == HOUSE and isinstance(request.prompt, str) and not context.unwanted():
        yield from hint_lines(target, request.prompt)


def hint_lines(target: Target, prompt: str) -> Iterator[str]:
    """Yield the notice about a prompt, if it is due; runs the target once."""
    sentence = hint(target, prompt)
    if sentence is not None:
        found: HintLine = {"kind": "hint", "sentence": sentence}
        yield line("hint", found)


def record(request: RunRequest, context: JobContext) -> Iterator[str]:
    """Load the models and run; yield a line per event, and empty texts for baseline passes."""
    target, (drafter,) = context.load(request.target, [request.drafter])
    from specviz import engine

    run = engine.run_stepwise(
        target, drafter, request.prompt, request.settings, stop=context.unwanted
    )
    with closing(run) as events:
        for event in events:
            if isinstance(event, Finished):
                yield BaselineNext(dumps(event) + "\n")
            else:
                yield dumps(event) + "\n" if isinstance(event, Event) else ""
