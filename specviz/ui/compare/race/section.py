"""The race: its form, live races, and their replay."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from specviz.ui.compare.race import form as forms
from specviz.ui.compare.race import recorded
from specviz.ui.compare.race.lane import OURS
from specviz.ui.compare.race.live import live
from specviz.ui.compare.race.request import RaceRequest
from specviz.ui.component import TabContext, component
from specviz.ui.live import PRIVATE, Job, Start, Texts, wire

RACE: Final = "sv-race"
PLAYER: Final = f"window.specviz.races['{RACE}']"


# The form takes the settings of the chosen race, unless it cannot be read.
LOAD: Final = f"""async (name, ...filled) =>
  (await {PLAYER}.load(name)) ? {OURS}.follow(name, filled) : filled"""


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    runs, form = place.runs, forms.build(place.any_model, place.runs.limit)
    view = component(RACE, "compare/race/race", recorded.config())

    def wanted(*filled: Any) -> Texts:
        return partial(runs.texts, live(RaceRequest.from_form(*filled).race(place.any_model)))

    job = Job("race", PLAYER, form.stop, form.number)
    wire(runs, job, view, Start(form.run, form.inputs, wanted))
    chosen = [form.recorded, *form.inputs]
    form.recorded.select(None, chosen, form.inputs, js=LOAD, **PRIVATE)
