"""The settings of a race: its lanes (a drafter with settings each), and shared settings.

An unused lane has no drafter, and the page's script hides it. A lane's settings are stored as text,
as on the command line. Visitors see a summary of them, and for the lane being edited the same
fields as on Step (see lane.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.compare.race import MAX_LANES
from specviz.settings.settings import Sampling, Settings
from specviz.ui.compare.race.lane import OURS, fields, wire
from specviz.ui.compare.race.request import LONGEST_SETTINGS, presets
from specviz.ui.component import bound
from specviz.ui.step.drawer import LISTED, chat, drafters, group, limits, sampling, target_box

TURNS: Final = 2  # fields of the prompt's format, which are the last shared ones


@dataclass(frozen=True, slots=True)
class Drawer:
    """Components of the settings.

    Attributes:
        shared: Fields of the shared settings, in the order of `RaceRequest`, target first.
        lanes: The drafter list and the settings box of each lane.
    """

    shared: list[Any]
    lanes: list[Any]


def drawer(first: Sequence[Any], any_model: bool, limit: float) -> Drawer:
    """Build all settings of a race, and connect the events that need no server.

    Args:
        first: The initial values, as returned by `request.values`, starting with the target.
        any_model: Whether folders and Hub ids may also be typed.
        limit: Seconds that a race may take.
    """
    shared = len(first) - 2 * MAX_LANES
    with gr.Column(elem_id="sv-raceform-drawer", elem_classes="sv-drawer"):
        with group("Lanes, besides plain decoding", "sv-raceform-lanes"):
            lanes = lane_fields(first[shared:], any_model)
        with group("All lanes", "sv-raceform-shared"):
            fields = shared_fields(first[: shared - TURNS], any_model)
        fields += chat_fields(first[shared - TURNS : shared])
        bound(limit)
    return Drawer(fields, lanes)


def shared_fields(first: Sequence[Any], any_model: bool) -> list[Any]:
    """Build the settings that are the same in all lanes."""
    target, temperature, top_k, top_p, seed, new_tokens = first
    model = target_box(target, any_model, "sv-raceform-target")
    made = sampling(Sampling(temperature, top_k, top_p))
    made |= limits(Settings(seed=seed, max_new_tokens=new_tokens))
    return [model, *made.values()]


def chat_fields(first: Sequence[Any]) -> list[Any]:
    """Build the settings of how the prompt is passed to the target, in all lanes."""
    form, system = first
    return list(chat(Settings(chat=form, system=system), "sv-raceform-chat").values())


def lane_fields(first: Sequence[Any], any_model: bool) -> list[Any]:
    """Build the presets, the lanes, and the buttons that add and remove a lane."""
    with gr.Row(elem_id="sv-raceform-presets"):
        chips = {p.name: gr.Button(p.title, elem_id=f"sv-raceform-{p.name}") for p in presets()}
    gr.HTML("<p></p>", elem_id="sv-raceform-said", padding=False)
    lanes, editors, removers = [], [], []
    for place in range(MAX_LANES):
        with gr.Row(elem_id=f"sv-raceform-lane-{place + 1}", elem_classes="sv-raceform-lane"):
            pair = lane(place, first[2 * place : 2 * place + 2], any_model)
            gr.HTML("<p></p>", elem_classes="sv-raceform-hint", padding=False)
            editors.append(gr.Button("Settings", elem_classes="sv-raceform-edit"))
            removers.append(gr.Button("Remove", elem_classes="sv-raceform-remove"))
        lanes += pair
    wire(lanes, editors, fields())
    add = gr.Button("Add a lane", elem_id="sv-raceform-add")
    wired = [(chip, f"preset('{name}')") for name, chip in chips.items()]
    wired += [(remover, f"remove({place}, lanes)") for place, remover in enumerate(removers)]
    for button, call in [*wired, (add, "add(lanes)")]:
        js = f"(...lanes) => {OURS}.{call}"
        button.click(None, lanes, lanes, js=js, api_visibility="private")
    return lanes


def lane(place: int, first: Sequence[Any], any_model: bool) -> list[Any]:
    """Build the components of one lane: the drafter list, and a hidden text box of its settings.

    Args:
        place: The lane's number, from 0.
        first: Its initial drafter and settings.
        any_model: Whether folders and Hub ids may also be typed.
    """
    drafter, settings = first
    number = place + 1
    method = drafter_box(f"Lane {number}", drafter, any_model)
    typed = gr.Textbox(
        settings or "",
        label=f"Settings of lane {number}",
        lines=1,
        max_lines=1,
        max_length=LONGEST_SETTINGS,
        elem_classes="sv-raceform-typed",
    )
    return [method, typed]


def drafter_box(label: str, value: str | None, any_model: bool) -> gr.Dropdown:
    """Build a list of drafters; with `any_model`, a folder or a Hub id may also be typed."""
    return gr.Dropdown(
        [(entry.title, entry.name) for entry in drafters()],
        value=value,
        label=label,
        filterable=any_model,
        allow_custom_value=any_model,
        elem_classes=["sv-pick", "sv-raceform-model", LISTED],
    )
