"""The race: its form, live races, and their replay."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from specviz.ui.compare.race import form as forms
from specviz.ui.compare.race import recorded
from specviz.ui.compare.race.live import live
from specviz.ui.compare.race.request import RaceRequest
from specviz.ui.component import TabContext, browser_object, component
from specviz.ui.instrument import DIRECT
from specviz.ui.live import PRIVATE, Start, wire
from specviz.ui.stream import Stream
from specviz.ui.task import Task

RACE: Final = "sv-race"
PLAYER: Final = browser_object(RACE)


# The form takes over the settings of the chosen race, unless it cannot be read.
LOAD: Final = f"async (name) => (await {PLAYER}.load(name)) ? name : null"


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    runs, form = place.runs, forms.build(place)
    view = component(RACE, "compare/race/race", recorded.config())

    def wanted(_: Stream, *filled: Any) -> Task:
        return live(RaceRequest.from_form(*filled).race(place.any_model))

    wire(place.jobs, runs, view, PLAYER, Start(form.run, form.inputs, wanted))
    form.stop.click(None, js=f"() => {{ {PLAYER}.stop() }}", **PRIVATE)
    load = partial(forms.follow, form)
    form.recorded.select(load, form.recorded, form.inputs, js=LOAD, **DIRECT)
