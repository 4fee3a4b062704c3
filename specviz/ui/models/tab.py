"""The Models tab: the list, fetching a row of it, and a row's way to Step.

Rule: only an app that lets visitors name any model fetches for them; others offer what is here.
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
    """Lay the tab out, with everything wired. fields: those of Step's form, by name;
    none where that could not be laid out.
    """
    fetchable()  # the lists of models are whole, or the tab says which is not
    view = component(NAME, "models/models", {"any": place.any_model})
    box = gr.Textbox(visible=False)
    look = gr.Button("Look what is here", elem_id=f"{NAME}-look", elem_classes="sv-hidden")
    look.click(
        partial(answer, place.any_model),
        box,
        view,
        js=f"() => [{OURS}.question()]",
        queue=False,
        trigger_mode="multiple",
        concurrency_limit=None,
        **PRIVATE,
    )
    if fields:
        _wire_use(dict(fields))
    if place.any_model:
        _wire_fetch(place, box)


def _wire_use(fields: dict[str, Any]) -> None:
    """A row's name into Step's field; a drafter made for another target then gives way."""
    use = gr.Button("Use on Step", elem_id=f"{NAME}-use", elem_classes="sv-hidden")
    chosen = use.click(None, None, fields["target"], js=f"() => {OURS}.chosen()", **PRIVATE)
    suit(fields, chosen.then)


def _wire_fetch(place: TabContext, box: gr.Textbox) -> None:
    story = component("sv-fetching", "models/fetching")
    go = gr.Button("Fetch", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    halt = gr.Button("Cancel", elem_id=f"{NAME}-stop", elem_classes="sv-hidden")
    number = gr.Number(visible=False)

    def wanted(name: str) -> Texts:
        require(name in fetchable(), f"No model called {name!r:.100} can be fetched here.")

        def texts(visitor: str, number: float) -> Any:
            return place.fetches.story(visitor, number, partial(tell, name))

        return texts

    job = Job("fetch", OURS, halt, number)
    wire(place.fetches, job, story, Start(go, [box], wanted, f"[{OURS}.wanted()]"))


def tell(name: str, ticket: Ticket, story: Stream) -> Iterator[None]:
    """Fetch in one go, telling the bytes; stopped before, nothing. Raises NotAvailable."""
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
