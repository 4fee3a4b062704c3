"""The form of a race: prompt, examples, lanes and their settings, Run live, Stop.

A lane is a drafter with the same fields as on Step. An unused lane has no drafter and is hidden.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import islice
from typing import Any, Final

import gradio as gr

from specviz.catalog.entry import settings_read_by, title_of
from specviz.compare.race import MAX_LANES, MIN_LANES, Lane, Race
from specviz.compare.storage import FOLDER, recipes
from specviz.models.files import public_name
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import EXAMPLE, prompts
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.compare.race import recorded
from specviz.ui.compare.race.request import (
    SHARED,
    Preset,
    RaceRequest,
    Value,
    form_lane,
    lanes_of,
    presets,
    slots,
    suited_lane,
    values,
)
from specviz.ui.component import TabContext, limit_note
from specviz.ui.instrument import DIRECT
from specviz.ui.request import HOUSE, USUAL
from specviz.ui.step.drawer import (
    boxes,
    chat,
    drafters,
    filled,
    group,
    method_box,
    suited,
    target_box,
)
from specviz.ui.step.form import (
    UNLISTED,
    SettingsWords,
    prompt_box,
    recorded_box,
    settings_button,
)

DRAWER: Final = "sv-raceform-drawer"
OWN: Final = "Your own choice of lanes."
FOCUS: Final = "() => { setTimeout(() => document.getElementById('sv-raceform-add').focus(), 100) }"


@dataclass(frozen=True, slots=True)
class Form:
    """The form's components.

    inputs: the components, in the order of the arguments of `RaceRequest.from_form`.
    """

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    recorded: gr.Dropdown


@dataclass(frozen=True, slots=True)
class LaneBox:
    """The components of a lane: its drafter, its settings, and what removes it."""

    method: gr.Dropdown
    fields: list[Any]
    fold: gr.Accordion
    remove: gr.Button
    mark: gr.HTML

    @property
    def inputs(self) -> list[Any]:
        """The drafter and the settings."""
        return [self.method, *self.fields]


def build(place: TabContext) -> Form:
    """Build the form, and connect the events that change it."""
    first, offered = opening(), presets()
    asked = RaceRequest.from_form(*values(first))
    with gr.Row(elem_id="sv-raceform", elem_classes="sv-ask", equal_height=True):
        prompt = prompt_box(
            first.prompt, "sv-raceform-prompt", "sv-raceform-examples", "sv-race-go"
        )
        titles = {name: recorded.title(name) for name in recorded.names()}
        chosen = recorded_box(titles, "sv-raceform-recorded")
        words = settings_button("sv-raceform-settings", DRAWER, sentence(asked))
        run = gr.Button("Run live", variant="primary", elem_id="sv-race-go", min_width=96)
        stop = gr.Button("Stop", elem_id="sv-race-stop", elem_classes="sv-ask-stop", min_width=96)
    report_if_broken(UNLISTED, prompts)
    report_if_broken("The recorded races have no titles.", partial(recipes, FOLDER))
    with gr.Column(elem_id=DRAWER, elem_classes="sv-drawer"):
        with group("Lanes, besides plain decoding", "sv-raceform-lanes"):
            preset = preset_box(offered, preset_of(offered, asked))
            boxed = lane_boxes(first, place.any_model)
            add = gr.Button("Add a lane", elem_id="sv-raceform-add")
        with group("All lanes", "sv-raceform-shared"):
            target = target_box(first.target, place.any_model, "sv-raceform-target")
            shared = {**boxes("sampling", first.shared), **boxes("run", first.shared)}
        shared |= chat(first.shared, "sv-raceform-chat")
        limit_note(place.runs.limit)
        mark = gr.HTML(target_mark(first.target), elem_classes="sv-raceform-mark")
    lanes = [component for each in boxed for component in each.inputs]
    settings = [target, *shared.values(), *lanes]
    changing(boxed, add, lanes)
    preset.input(lambda name: slots(named(offered, name).lanes), preset, lanes, **DIRECT)
    said: list[Any] = [words, preset, add, mark]
    said += [part for each in boxed for part in (each.fold, each.remove, each.mark)]
    gr.on(
        [each.change for each in settings],
        partial(described, offered),
        settings,
        said,
        **DIRECT,
    )
    form = Form([prompt, *settings], run, stop, chosen)

    def linked(request: gr.Request) -> list[Any]:
        name = request.query_params.get("race")
        race = race_of(name) if name in recorded.names() else None
        if race is None:
            return [gr.skip()] * (1 + len(form.inputs) + len(said))
        # If the tab is not open yet, no event says that the values have changed.
        found = values(race)
        return [name, *found, *described(offered, *found[1:])]

    place.demo.load(linked, None, [chosen, *form.inputs, *said], **DIRECT)
    return form


def opening() -> Race:
    """Return the race that the form has at first: a recorded one, or that of the first preset."""
    made = race_of(next(iter(recorded.names()), None))
    if made is not None:
        return made
    prompt = read_unless_broken(lambda: prompts()["stories"][0], EXAMPLE)
    usual = Settings(sampling=Sampling(temperature=0.0)).to_json()
    shared = [value for group in SHARED for value in filled(group, usual)]
    return RaceRequest.from_form(prompt, HOUSE, *shared, *slots(presets()[0].lanes)).race()


def race_of(name: str | None) -> Race | None:
    """Return a recorded race; None if it has no recipe that can be read."""
    recipe = recorded.recipe(name) if name else None
    return read_unless_broken(lambda: recipe.race, None) if recipe else None


def named(known: Sequence[Preset], name: str) -> Preset:
    """Return a preset by name."""
    return next(preset for preset in known if preset.name == name)


def preset_of(known: Sequence[Preset], asked: RaceRequest) -> Preset | None:
    """Return the preset with the lanes of this form."""
    return next((preset for preset in known if preset.lanes == asked.lanes), None)


def preset_box(known: Sequence[Preset], chosen: Preset | None) -> gr.Radio:
    """Build the choice of a preset, with what it is for."""
    return gr.Radio(
        [(preset.title, preset.name) for preset in known],
        value=chosen.name if chosen else None,
        label="Preset",
        info=chosen.sentence if chosen else OWN,
        elem_id="sv-raceform-presets",
    )


def lane_boxes(first: Race, any_model: bool) -> list[LaneBox]:
    """Build all lanes, those in use first."""
    unused = Lane("", "", Settings())
    lanes = [*first.lanes, *[unused] * (MAX_LANES - len(first.lanes))]
    return [lane_box(at, each, first, any_model) for at, each in enumerate(lanes)]


def lane_box(at: int, used: Lane, first: Race, any_model: bool) -> LaneBox:
    """Build a lane; `at` is its number, from 0."""
    number, form = at + 1, lane_id(at)
    classes = ["sv-raceform-lane", "sv-reads"]
    with gr.Column(elem_id=form, elem_classes=classes):
        method = method_box(used.drafter or None, f"Lane {number}", None, any_model)
        said = fold_label(number, form_lane(used).described(first.target))
        with (
            gr.Accordion(said, open=False, elem_classes="sv-raceform-fold") as fold,
            gr.Column(elem_classes="sv-group"),
        ):
            fields = list(boxes("drafting", used.settings, form).values())
        remove = gr.Button(
            f"Remove lane {number}",
            elem_classes="sv-raceform-remove",
            visible=len(first.lanes) > MIN_LANES,
        )
        mark = gr.HTML(lane_mark(used.drafter), elem_classes="sv-raceform-mark")
    return LaneBox(method, fields, fold, remove, mark)


def lane_id(at: int) -> str:
    """Return the id of a lane's box, and the start of those of its fields."""
    return f"sv-raceform-lane-{at + 1}"


def fold_label(number: int, said: str) -> str:
    """Return the words on a lane's settings while they are folded."""
    return f"Settings of lane {number}: {said}"


def changing(boxed: Sequence[LaneBox], add: gr.Button, lanes: list[Any]) -> None:
    """Connect what adds and removes lanes, and a drafter to its default settings."""
    add.click(added, lanes, lanes, **DIRECT)
    for at, each in enumerate(boxed):
        each.method.input(suited, each.method, each.fields, **DIRECT)
        gone = each.remove.click(partial(removed, at), lanes, lanes, **DIRECT)
        gone.then(None, js=FOCUS, **DIRECT)


def added(*filled: Any) -> list[Value]:
    """Add a lane with a drafter that has none yet, if there is room."""
    lanes = lanes_of(filled)
    taken = [each.drafter for each in lanes]
    offered = [*(each.drafter for each in presets()[0].lanes), *(each.name for each in drafters())]
    others = (name for name in offered if name not in taken)
    return slots([*lanes, *map(suited_lane, islice(others, 1))][:MAX_LANES])


def removed(at: int, *filled: Any) -> list[Value]:
    """Remove a lane, unless a race would have too few."""
    lanes = lanes_of(filled)
    if len(lanes) > MIN_LANES:
        del lanes[at]
    return slots(lanes)


def described(known: Sequence[Preset], *settings: Any) -> list[Any]:
    """Return what the form says of its values: sentence, preset, add, lanes, what removes them."""
    asked = RaceRequest.from_form("", *settings)
    preset, many = preset_of(known, asked), len(asked.lanes)
    return [
        json.dumps(sentence(asked)),
        gr.update(value=preset.name if preset else None, info=preset.sentence if preset else OWN),
        gr.update(visible=many < MAX_LANES),
        target_mark(asked.target),
        *(part for at in range(MAX_LANES) for part in lane_said(asked, at)),
    ]


def lane_said(asked: RaceRequest, at: int) -> list[Any]:
    """Return what a lane's box says, and whether its button removes it."""
    if at >= len(asked.lanes):
        return [gr.skip(), gr.skip(), lane_mark("")]
    lane = asked.lanes[at]
    label = fold_label(at + 1, lane.described(asked.target))
    removes = len(asked.lanes) > MIN_LANES
    return [gr.update(label=label), gr.update(visible=removes), lane_mark(lane.drafter)]


def lane_mark(drafter: str) -> str:
    """Return what style sheets read of a lane: what its drafter reads, or that it is unused."""
    reads = settings_read_by(drafter) or settings_read_by(USUAL) or []
    return f'<i data-reads="{" ".join(reads)}"></i>' if drafter else "<i data-unused></i>"


def target_mark(target: str) -> str:
    """Return what style sheets read of the target."""
    return f'<i data-target="{escape(target)}"></i>'


def sentence(asked: RaceRequest) -> SettingsWords:
    """Return the sentence on the button that opens the settings."""
    many = len(asked.lanes)
    shared = {name: str(value).removesuffix(".0") for name, value in asked.shared.items()}
    return {
        "drafter": "1 drafter" if many == 1 else f"{many} drafters",
        "joined": " for ",
        "target": title_of(public_name(asked.target)),
        "rest": " · T {temperature} · {max_new_tokens} tokens · seed {seed}".format_map(shared),
        "about": "",
    }


def follow(form: Form, name: str | None) -> list[Any]:
    """Return the form's values for a recorded race; none if they cannot be read."""
    race = race_of(name)
    return values(race) if race else [gr.skip()] * len(form.inputs)
