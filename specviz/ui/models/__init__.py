"""The Models tab: the list, downloading a model, and using it on Step.

Models are downloaded only if the app allows visitors to use any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, Literal, TypedDict

import gradio as gr

from specviz.catalog import public
from specviz.models.files import FetchMonitor
from specviz.settings.settings import require
from specviz.settings.suggestion import did_you_mean
from specviz.ui.component import TabContext, component
from specviz.ui.live import PRIVATE, Start, wire
from specviz.ui.models.rows import answer, fetchable
from specviz.ui.step.drawer import suit
from specviz.ui.stream import ErrorLine, StateLine, Stream, line
from specviz.ui.task import JobContext, Task

NAME: Final = "sv-models"
OFTEN: Final = 0.5  # seconds between two lines of a download; all lines are kept
OURS: Final = "window.specviz.models"


class Config(TypedDict):
    """Initial data of the tab.

    Attributes:
        any: Whether this app downloads models.
    """

    any: bool


class ProgressLine(TypedDict):
    """Number of bytes downloaded so far.

    Attributes:
        of: Total bytes; 0 if unknown.
    """

    kind: Literal["progress"]
    id: str
    done: int
    of: int


class StepLine(TypedDict):
    """A step of a download, such as a source that is tried."""

    kind: Literal["step"]
    id: str
    sentence: str


Line = ProgressLine | StepLine | StateLine | ErrorLine


def build(place: TabContext, fields: Mapping[str, Any]) -> None:
    """Build the tab and connect its events.

    Args:
        place: The page.
        fields: Components of Step's form by name; empty if the form could not be built.
    """
    fetchable()  # raises an exception if a list of models is broken; the tab then shows which
    config: Config = {"any": place.any_model}
    view = component(NAME, "models/models", config)
    place.questions.add("models", partial(answer, place.any_model, place.runs.machine))
    if fields:
        _wire_use(dict(fields))
    if place.any_model:
        go = gr.Button("Download", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
        wire(place.jobs, place.fetches, view, OURS, Start(go, [], wanted, f"{OURS}.wanted()"))


def _wire_use(fields: dict[str, Any]) -> None:
    """Let a row's button fill a model into Step's form; a drafter that does not fit is replaced."""
    use = gr.Button("Use on Step", elem_id=f"{NAME}-use", elem_classes="sv-hidden")
    chosen = use.click(None, None, fields["target"], js=f"() => {OURS}.chosen()", **PRIVATE)
    suit(fields, chosen.then, prefer_own=True)


def wanted(_: Stream, name: Any) -> Task:
    """Return the task of a download. Raises BadSettings for a model that cannot be downloaded."""
    known = fetchable()
    hint = did_you_mean(str(name), known)
    require(name in known, f"There is no model {name!r:.100} to download.{hint}")
    return Task(partial(download, name), 0.0)


def download(name: str, context: JobContext) -> Iterator[str]:
    """Download a model in a thread of its own, and yield its progress. Raises NotAvailable."""
    yield context.says("fetching")
    if context.unwanted():
        return
    progress = Progress(context.nonce)
    watch = FetchMonitor(progress.update, context.unwanted)
    with ThreadPoolExecutor(1, "fetch") as thread:
        fetching = thread.submit(public.fetch, name, progress.say, watch)
        fetching.add_done_callback(lambda _: progress.lines.put(""))
        while text := progress.lines.get():
            yield text
        fetching.result()


class Progress:
    """Progress lines of a download: bytes at most every OFTEN seconds, and sentences at once."""

    def __init__(self, nonce: str) -> None:
        self.lines = SimpleQueue[str]()
        self._nonce = nonce
        self._sent = -OFTEN

    def update(self, done: int, whole: int) -> None:
        """Add the number of bytes, if enough time has passed.

        Args:
            done: Bytes that were downloaded.
            whole: Total bytes; 0 if unknown.
        """
        now, last = monotonic(), whole > 0 and done >= whole
        if now - self._sent < OFTEN and not last:
            return
        self._sent = now
        self._put({"kind": "progress", "id": self._nonce, "done": done, "of": whole})

    def say(self, sentence: str) -> None:
        """Add a line about a step, such as a source that is tried."""
        self._put({"kind": "step", "id": self._nonce, "sentence": sentence})

    def _put(self, found: ProgressLine | StepLine) -> None:
        self.lines.put(line(found["kind"], found))
