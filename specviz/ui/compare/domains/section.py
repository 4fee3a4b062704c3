"""The shipped prompts by domain: drafter × domain as a heat map, recorded, or measured here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr

from specviz.compare.domains import plan
from specviz.compare.domains.heatmap import Heat, view
from specviz.compare.domains.plan import Plan, choices, recorded
from specviz.settings.settings import BadSettings, require
from specviz.settings.value_types import parse_integer, parse_number
from specviz.texts import count
from specviz.ui.compare.domains.live import live
from specviz.ui.component import TabContext, bound, component
from specviz.ui.live import PRIVATE, Job, Start, Texts, wire
from specviz.ui.step.drawer import group

MAP: Final = "sv-domains"
USUAL: Final = ("draft-model", "eagle3", "medusa", "ngram")
OURS: Final = f"window.specviz.domains['{MAP}']"
SIZE: Final = f"(text) => {{ {OURS}.size(text) }}"
LATEST: Final[dict[str, Any]] = {"trigger_mode": "always_last", "concurrency_limit": None}


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    runs, heat = place.runs, component(MAP, "compare/domains/domains", config())
    form = Form.build(runs.limit)

    def wanted(*said: Any) -> Texts:
        return partial(runs.texts, live(planned(*said)))

    job = Job("domains", OURS, form.stop, form.number)
    wire(runs, job, heat, Start(form.run, form.inputs, wanted))
    changes = [box.change for box in form.inputs]
    sized = gr.on(changes, size, form.inputs, form.size, queue=False, **LATEST, **PRIVATE)
    sized.then(None, form.size, js=SIZE, **PRIVATE)


@dataclass(frozen=True, slots=True)
class Form:
    """What a measurement reads, in the order of `planned`, and what acts. size: of the plan."""

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    number: gr.Number
    size: gr.Textbox

    @classmethod
    def build(cls, limit: float) -> Form:
        """Lay it out. limit: seconds that a measurement may take."""
        with group("Measure it on this machine", "sv-domains-form"):
            inputs = [
                gr.CheckboxGroup(
                    choices(), value=list(USUAL), label="Drafters", elem_id="sv-domains-drafters"
                ),
                gr.Slider(1, plan.most_prompts(), 1, step=1, label="Prompts a domain"),
                gr.Slider(
                    plan.FEWEST_TOKENS, plan.MOST_TOKENS, 24, step=8, label="New tokens a run"
                ),
                gr.Slider(0, plan.HOTTEST, 0, step=0.1, label="Temperature"),
                gr.Number(1, precision=0, label="Seed of the order"),
            ]
            run = gr.Button("Run on this machine", variant="primary", elem_id="sv-domains-go")
            stop = gr.Button("Stop", elem_id="sv-domains-stop")
            gr.HTML(f'<p class="sv-domains-size">{Plan(USUAL).size}</p>', elem_id="sv-domains-size")
            bound(limit)
        return cls(inputs, run, stop, gr.Number(0, visible=False), gr.Textbox(visible=False))


def planned(drafters: Any, prompts: Any, tokens: Any, warmth: Any, seed: Any) -> Plan:
    """The plan that the form asks for. Raises BadSettings with a sentence."""
    named = isinstance(drafters, list) and all(isinstance(name, str) for name in drafters)
    require(named, "The drafters are a list of names.")
    return Plan(
        tuple(drafters),
        parse_integer("Prompts a domain", prompts),
        parse_integer("New tokens", tokens),
        parse_number("Temperature", warmth),
        parse_integer("The seed of the order", seed),
    )


def size(*said: Any) -> str:
    """How much work the form asks for, or why that cannot be done."""
    try:
        return planned(*said).size
    except BadSettings as problem:
        return str(problem)


def config() -> dict[str, Any]:
    """What the part's script knows: the recorded maps by temperature."""
    return {"recorded": [map_shown(one) for one in recorded()]}


def map_shown(one: plan.Recorded) -> dict[str, Any]:
    """A recorded measurement as the page has it."""
    heat = Heat.of(one.cells, one.drafters, one.domains, one.prompts)
    where = (
        one.where,
        f"{count(one.prompts, 'prompt')} a domain",
        f"{one.new_tokens} new tokens",
        f"T {one.temperature:g}",
    )
    facts = {"badge": "recorded", "where": " · ".join(where), "temperature": f"{one.temperature:g}"}
    return view(heat) | facts
