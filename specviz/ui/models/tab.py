"""The Models tab: the list, downloading a model, and using it on Step.

Only an app that lets visitors name any model downloads for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import gradio as gr

from specviz.catalog import fetching
from specviz.models.files import FetchMonitor, Stopped
from specviz.settings.settings import require
from specviz.ui.component import TabContext, component
from specviz.ui.live import PRIVATE, Job, Start, Texts, wire
from specviz.ui.models.progress import Progress
from specviz.ui.models.rows import answer, fetchable
from specviz.ui.queue import Ticket
from specviz.ui.step.drawer import suit
from specviz.ui.stream import Stream

NAME: Final = "sv-models"
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
        fetching.fetch(name, progress.say, FetchMonitor(progress.told, ticket.unwanted))
    except Stopped:
        if not ticket.unwanted():
            raise
