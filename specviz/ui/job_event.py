"""A live job as an event of Gradio: a start button, a stop button, and components that it changes.

The event reads the job's lines and lasts until the job ends. A job whose page was closed loses its
reader, and is therefore stopped after a few seconds.

This module has no `from __future__ import annotations`, since Gradio reads the annotations of
`start`.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

import gradio as gr

from specviz.texts import count, text
from specviz.ui.instrument import verbatim
from specviz.ui.live import PRIVATE
from specviz.ui.stream import Stream
from specviz.ui.task import Task, format_duration
from specviz.ui.worker import Worker

Line = Mapping[str, Any]
# Returns the components that new lines of the job change.
Take = Callable[[Sequence[Line]], Mapping[Any, Any]]
# The stop button may have had the focus before it was hidden.
KEEP_FOCUS: Final = (
    "() => { if (document.activeElement === document.body)"
    " document.getElementById('%s')?.focus(); }"
)


class JobEvent:
    """The buttons of a job, and a line that says what the visitor waits for.

    Attributes:
        button: The start button.
        stop: The stop button, which is visible while the job is active.
        status: Says what the visitor waits for, or how the job ended.
    """

    def __init__(self, name: str, label: str, stop: str = "Stop") -> None:
        """Build the components.

        Args:
            name: The start button's id on the page.
            label: Its label.
            stop: The label of the stop button.
        """
        self.button = gr.Button(label, elem_id=name, elem_classes="sv-job-start")
        self.stop = gr.Button(stop, visible=False, elem_classes="sv-job-start")
        self.status = gr.Markdown(elem_classes="sv-job-status")
        self._active: dict[str, Stream] = {}

    def wire(
        self,
        worker: Worker,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        wanted: Callable[..., Task],
        take: Callable[..., Take],
    ) -> Any:
        """Connect the buttons to the job; return the event of its end.

        Args:
            worker: Runs the job.
            inputs: Components whose values are sent.
            outputs: Components that the job changes.
            wanted: Creates the task from the inputs' values. Raises ValueError with a sentence.
            take: Returns, for the inputs' values, the function that shows the job's lines.
        """

        async def start(request: gr.Request, *values: Any) -> AsyncIterator[Mapping[Any, Any]]:
            visitor = str(request.session_hash)
            stream = self._active[visitor] = Stream(visitor, "1")
            show = take(*values)
            yield {
                self.stop: gr.Button(visible=True),
                self.status: text("jobs", "asking"),
            }
            try:
                worker.start(wanted(*values), stream)
            except Exception as problem:
                stream.fail(problem)
            try:
                with stream.reading():
                    async for batch in stream.read():
                        lines = [json.loads(line) for line in batch]
                        changed = dict(show(lines))
                        said = status(lines[-1], stream.begun) if lines else None
                        if said is not None:
                            changed[self.status] = said
                        if changed:  # Gradio takes an empty dictionary for a value
                            yield changed
            finally:
                stream.stop()
                self._active.pop(visitor, None)

        async def stopped(request: gr.Request) -> None:
            # The job's own event says it: this one's answer could arrive after the job's last line.
            if stream := self._active.get(str(request.session_hash)):
                stream.say("stopping")
                stream.stop()

        started = self.button.click(
            start,
            list(inputs),
            [self.stop, self.status, *outputs],
            concurrency_limit=None,
            **PRIVATE,
        )
        self.stop.click(stopped, None, None, queue=False, **PRIVATE)
        hidden = started.then(_hidden, None, self.stop, queue=False, **PRIVATE)
        return hidden.then(None, js=KEEP_FOCUS % self.button.elem_id, **PRIVATE)


def _hidden() -> gr.Button:
    return gr.Button(visible=False)


def status(line: Line, begun: bool) -> str | None:
    """Return what a line of a job says to the visitor, or None.

    Args:
        line: The line.
        begun: Whether the job has shown something.
    """
    if line["kind"] == "error":
        return f"**{verbatim(line['sentence'])}**"
    if line["kind"] != "state" or line["state"] == "done":
        return None
    return _SAID.get(line["state"], _waits)(line, begun)


def _waits(line: Line, begun: bool) -> str | None:
    said = ("drafting", "measuring", "fetching", "stopping")
    return text("jobs", line["state"]) if line["state"] in said else ""


def _queued(line: Line, begun: bool) -> str:
    seconds = line.get("seconds", 0)
    return text(
        "jobs", "turns" if begun else "queued", place=line["place"],
        seconds=count(seconds, "second") if seconds else "",
    )  # fmt: skip


def _loading(line: Line, begun: bool) -> str:
    return text(
        "jobs", "loading", model=line.get("model", ""), stage=line.get("stage", ""),
        done=f"{line.get('done', 0) / 1e6:,.0f}",
        of=f"{line['of'] / 1e6:,.0f}" if line.get("of") else "",
    )  # fmt: skip


def _overdue(line: Line, begun: bool) -> str:
    return text("jobs", "overdue", limit=format_duration(line["seconds"]), begun=begun)


def _stopped(line: Line, begun: bool) -> str:
    return text("jobs", "stopped", begun=begun)


def _lending(line: Line, begun: bool) -> str:
    return text("jobs", "lending", seconds=count(line["seconds"], "second"))


_SAID: Final[Mapping[str, Callable[[Line, bool], str | None]]] = {
    "queued": _queued, "loading": _loading, "overdue": _overdue, "stopped": _stopped,
    "lending": _lending,
}  # fmt: skip
