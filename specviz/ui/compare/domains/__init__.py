"""A heat map of drafters by domain on the shipped prompts, recorded or measured live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypedDict

import gradio as gr

from specviz.compare import domains
from specviz.compare.domains import Plan, choices, recorded
from specviz.compare.domains.heatmap import HeatMap, MapView, Measure, view
from specviz.compare.lanes import join_names
from specviz.glossary import GLOSSARY
from specviz.settings.settings import BadSettings, require
from specviz.settings.value_types import parse_integer, parse_number
from specviz.texts import count, text
from specviz.ui.compare.domains.live import live as measure
from specviz.ui.compare.race import recorded as races
from specviz.ui.component import TabContext, bound, component
from specviz.ui.live import PRIVATE, Start, wire
from specviz.ui.step.drawer import group
from specviz.ui.stream import Stream
from specviz.ui.task import Task

MAP: Final = "sv-domains"
USUAL: Final = ("draft-model", "eagle3", "medusa", "ngram")
OURS: Final = f"window.specviz.domains['{MAP}']"
SIZE: Final = f"(text) => {{ {OURS}.size(text) }}"
LATEST: Final[dict[str, Any]] = {"trigger_mode": "always_last", "concurrency_limit": None}


class RecordedMap(MapView):
    """A recorded map.

    Attributes:
        where: The machine and the settings.
    """

    badge: str
    where: str
    temperature: str


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        references: The sentence above the reference drafters.
    """

    recorded: list[RecordedMap]
    references: str
    notes: dict[Measure, str]


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    runs, heat = place.runs, component(MAP, "compare/domains/domains", config())
    form = Form.build(runs.limit)

    def wanted(_: Stream, *said: Any) -> Task:
        return measure(planned(*said))

    wire(place.jobs, runs, heat, OURS, Start(form.run, form.inputs, wanted))
    form.stop.click(None, js=f"() => {{ {OURS}.stop() }}", **PRIVATE)
    changes = [box.change for box in form.inputs]
    sized = gr.on(changes, size, form.inputs, form.size, queue=False, **LATEST, **PRIVATE)
    sized.then(None, form.size, js=SIZE, **PRIVATE)


@dataclass(frozen=True, slots=True)
class Form:
    """The form's components.

    Attributes:
        inputs: The components, in the order of the arguments of `planned`.
        size: Shows the size of the plan.
    """

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    size: gr.Textbox

    @classmethod
    def build(cls, limit: float) -> Form:
        """Build the form; a measurement may take `limit` seconds."""
        with group("Measure it on this machine", "sv-domains-form"):
            inputs = [
                gr.CheckboxGroup(
                    choices(), value=list(USUAL), label="Drafters", elem_id="sv-domains-drafters"
                ),
                gr.Slider(1, domains.max_prompts(), 1, step=1, label="Prompts per domain"),
                gr.Slider(
                    domains.MIN_TOKENS, domains.MAX_TOKENS, 24, step=8, label="New tokens per run"
                ),
                gr.Slider(0, domains.MAX_TEMPERATURE, 0, step=0.1, label="Temperature"),
                gr.Number(1, precision=0, label="Seed for the order of runs"),
            ]
            run = gr.Button("Run on this machine", variant="primary", elem_id="sv-domains-go")
            stop = gr.Button("Stop", elem_id="sv-domains-stop")
            gr.HTML(f'<p class="sv-domains-size">{Plan(USUAL).size}</p>', elem_id="sv-domains-size")
            bound(limit)
        return cls(inputs, run, stop, gr.Textbox(visible=False))


def planned(drafters: Any, prompts: Any, tokens: Any, warmth: Any, seed: Any) -> Plan:
    """Build the plan from the form's values.

    Raises:
        BadSettings: If a value is invalid.
    """
    named = isinstance(drafters, list) and all(isinstance(name, str) for name in drafters)
    require(named, "The drafters must be a list of names.")
    return Plan(
        tuple(drafters),
        parse_integer("Prompts per domain", prompts),
        parse_integer("New tokens", tokens),
        parse_number("Temperature", warmth),
        parse_integer("The order seed", seed),
    )


def size(*said: Any) -> str:
    """Return the amount of work for the form's values, or the error in them, as a sentence."""
    try:
        return planned(*said).size
    except BadSettings as problem:
        return str(problem)


def config() -> Config:
    """Return the config of the map's script: the recorded maps by temperature."""
    mean = GLOSSARY["mean over domains"]
    return {
        "recorded": [map_shown(one) for one in recorded()],
        "references": text("compare", "map_references"),
        "notes": {
            "speedup": text("compare", "note_speedup", mean=mean[:1].lower() + mean[1:]),
            "accepted": text("compare", "note_accepted"),
        },
    }


def _other_machine(machine: str) -> str:
    """Return a caution if the recorded races ran on another machine than the map, or may have."""
    others = sorted(races.machines() - {machine})
    values = {"machine": machine, "others": join_names(others)}
    return text("compare", "map_other_machine", **values) if others else ""


def map_shown(one: domains.Recorded) -> RecordedMap:
    """Convert a recorded measurement to a map for the page."""
    heat = HeatMap.from_cells(one.cells, one.drafters, one.domains, one.prompts)
    where = (
        one.where,
        f"{count(one.prompts, 'prompt')} per domain",
        f"{one.new_tokens} new tokens",
        f"T {one.temperature:g}",
    )
    cautions = [view(heat)["caution"], _other_machine(one.machine)]
    return {
        **view(heat),
        "caution": " ".join(filter(None, cautions)),
        "badge": "recorded",
        "where": " · ".join(where),
        "temperature": f"{one.temperature:g}",
    }
