"""The Models tab: the list, downloading a model, and using it on Step.

Only an app that lets visitors name any model downloads for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Any, Final

import gradio as gr

from specviz.catalog import public
from specviz.models.files import FetchMonitor, Stopped
from specviz.settings.settings import require
from specviz.ui.component import TabContext, component
from specviz.ui.live import PRIVATE, Job, Start, Texts, wire
from specviz.ui.models.rows import answer, fetchable
from specviz.ui.queue import Ticket
from specviz.ui.step.drawer import suit
from specviz.ui.stream import Stream, line

NAME: Final = "sv-models"
OFTEN: Final = 0.5  # seconds between two lines of a download, which are all kept
OURS: Final = "window.specviz.models"


def build(place: TabContext, fields: Mapping[str, Any]) -> None:
    """Build the tab and wire its events.

    Args:
        place: The page.
        fields: Components of Step's form by name; empty if the form could not be built.
    """
    fetchable()  # raises if a list of models is broken, and the tab then says which
    component(NAME, "models/models", {"any": place.any_model})
    place.questions.add("models", partial(answer, place.any_model, place.runs.machine))
    if fields:
        _wire_use(dict(fields))
    if place.any_model:
        _wire_fetch(place)


def _wire_use(fields: dict[str, Any]) -> None:
    """Put a row's name into Step's field; a drafter for another target is then replaced."""
    use = gr.Button("Use on Step", elem_id=f"{NAME}-use", elem_classes="sv-hidden")
    chosen = use.click(None, None, fields["target"], js=f"() => {OURS}.chosen()", **PRIVATE)
    suit(fields, chosen.then, prefer_own=True)


def _wire_fetch(place: TabContext) -> None:
    box = gr.Textbox(visible=False)
    story = component("sv-fetching", "models/fetching")
    go = gr.Button("Download", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    stop = gr.Button("Cancel", elem_id=f"{NAME}-stop", elem_classes="sv-hidden")
    number = gr.Number(visible=False)

    def wanted(name: str) -> Texts:
        require(name in fetchable(), f"There is no model {name!r:.100} to download.")

        def texts(visitor: str, number: float) -> Any:
            return place.fetches.story(visitor, number, partial(download, name))

        return texts

    job = Job("fetch", OURS, stop, number)
    wire(place.fetches, job, story, Start(go, [box], wanted, f"[{OURS}.wanted()]"))


def download(name: str, ticket: Ticket, story: Stream) -> Iterator[None]:
    """Download a model while sending progress, unless stopped before. Raises NotAvailable."""
    if ticket.unwanted():
        return
    yield
    story.say("fetching")
    progress = Progress(story)
    try:
        public.fetch(name, progress.say, FetchMonitor(progress.update, ticket.unwanted))
    except Stopped:
        if not ticket.unwanted():
            raise


class Progress:
    """Send bytes at most every OFTEN seconds, and sentences at once."""

    def __init__(self, story: Stream) -> None:
        self._story = story
        self._sent = -OFTEN

    def update(self, done: int, whole: int) -> None:
        """Send the number of bytes, if enough time has passed.

        Args:
            done: Bytes that were downloaded.
            whole: Total bytes; 0 if unknown.
        """
        now, last = monotonic(), whole > 0 and done >= whole
        if now - self._sent < OFTEN and not last:
            return
        self._sent = now
        data = {"done": done, "of": whole, "id": self._story.nonce}
        self._story.write(line("progress", data))

    def say(self, sentence: str) -> None:
        """Send a step, such as a source that is tried."""
        self._story.write(line("step", {"sentence": sentence, "id": self._story.nonce}))
