"""The row above a race: prompt, examples, settings, Run live, Stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypedDict

import gradio as gr

from specviz.catalog.entry import entries
from specviz.compare.race import MAX_LANES, MIN_LANES
from specviz.compare.storage import FOLDER, RaceRecipe, recipes
from specviz.settings.specs import READ_BY_ALL
from specviz.shipped import EXAMPLE, prompts
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.compare.race import lane as lanes
from specviz.ui.compare.race import recorded
from specviz.ui.compare.race.drawer import drawer
from specviz.ui.compare.race.lane import OURS
from specviz.ui.compare.race.request import Value, presets, slots, suits, values
from specviz.ui.component import component
from specviz.ui.request import HOUSE
from specviz.ui.step.drawer import drafters, suited
from specviz.ui.step.form import UNLISTED, prompt_box, recorded_box

SHOW: Final = f"(...values) => {{ {OURS}.show(values) }}"
LINKED: Final = f"(...filled) => {OURS}.linked(filled)"


class DrafterFacts(TypedDict):
    """A drafter of the catalogue.

    Attributes:
        made_for: The target that its weights were trained for; None if it fits any target.
        suits: Its default settings as text.
        defaults: The same settings by field.
    """

    title: str
    made_for: str | None
    suits: str
    reads: list[str]
    defaults: list[Value]


class PresetFacts(TypedDict):
    """A preset: what it is for, and the form's values of its lanes."""

    about: str
    lanes: list[str | None]


class Config(TypedDict):
    """Initial data of the form's script.

    Attributes:
        event: Name of an event; Gradio adds to a component the events that its script mentions.
        first: The form's initial values, starting with the target.
        targets: Titles of the targets by name.
        recorded: The form's values for each recorded race.
        fewest: Minimum number of lanes.
        most: Maximum number of lanes.
    """

    event: str
    first: list[Value]
    drafters: dict[str, DrafterFacts]
    targets: dict[str, str]
    presets: dict[str, PresetFacts]
    recorded: dict[str, list[Value]]
    fields: list[lanes.Field]
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Form:
    """The form's components.

    Attributes:
        inputs: The components, in the order of the arguments of `RaceRequest.from_form`.
    """

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    recorded: gr.Dropdown


def build(any_model: bool, limit: float) -> Form:
    """Build the form; a race may take `limit` seconds."""
    first = opening()
    with gr.Row(elem_id="sv-raceform", elem_classes="sv-ask", equal_height=True):
        prompt = prompt_box(first[0], "sv-raceform-prompt", "sv-raceform-examples", "sv-race-go")
        titles = {name: recorded.title(name) for name in recorded.names()}
        chosen = recorded_box(titles, "sv-raceform-recorded")
        classes = "sv-part sv-ask-settings"
        sentence = component("sv-raceform-settings", "compare/race/form", config(first), classes)
        run = gr.Button("Run live", variant="primary", elem_id="sv-race-go", min_width=96)
        stop = gr.Button("Stop", elem_id="sv-race-stop", elem_classes="sv-ask-stop", min_width=96)
    report_if_broken(UNLISTED, prompts)
    report_if_broken("The recorded races have no titles.", partial(recipes, FOLDER))
    made = drawer(first[1:], any_model, limit)
    inputs = [prompt, *made.shared, *made.lanes]
    settings = inputs[1:]
    changes = [component.change for component in settings]
    gr.on(changes, None, settings, js=SHOW, api_visibility="private")
    # Triggered by the page's script if the URL names a recorded race other than the first.
    both = [chosen, *inputs]
    sentence.linked(None, both, both, js=LINKED, api_visibility="private")
    return Form(inputs, run, stop, chosen)


def opening() -> list[Any]:
    """Return the form's initial values: those of the race shown first, or of the first preset."""
    made = recorded_values().get(next(iter(recorded.names()), ""))
    if made is not None:
        return made
    prompt = read_unless_broken(lambda: prompts()["stories"][0], EXAMPLE)
    shared = [prompt, HOUSE, 0.0, 0, 1.0, 1, 64, "auto", ""]
    return [*shared, *slots(presets()[0].lanes)]


def recorded_values() -> dict[str, list[Value]]:
    """Return the form's values for each recorded race, by name."""
    made = {name: recorded.recipe(name) for name in recorded.names()}
    found: dict[str, list[Value]] = {
        name: read_unless_broken(partial(form_values, recipe), [])
        for name, recipe in made.items()
        if recipe
    }
    return {name: fields for name, fields in found.items() if fields}


def form_values(recipe: RaceRecipe) -> list[Value]:
    """Return the form's values for a recorded race.

    Raises:
        BrokenFile: If its recipe cannot be read.
    """
    return list(values(recipe.race))


def config(first: Sequence[Any]) -> Config:
    """Return the config of the form's script."""
    known: dict[str, DrafterFacts] = {
        entry.name: {
            "title": entry.title,
            "made_for": entry.made_for,
            "suits": suits(entry.name),
            "reads": [*entry.reads, *READ_BY_ALL],
            "defaults": suited(entry.name),
        }
        for entry in drafters()
    }
    return {
        "event": "linked",
        "first": list(first[1:]),
        "drafters": known,
        "targets": {entry.name: entry.title for entry in entries() if entry.kind == "target"},
        "presets": {p.name: {"about": p.sentence, "lanes": slots(p.lanes)} for p in presets()},
        "recorded": recorded_values(),
        "fields": lanes.rows(),
        "fewest": MIN_LANES,
        "most": MAX_LANES,
    }
