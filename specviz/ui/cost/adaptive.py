"""How much of each draft to verify: an instrument of a grid, a chart and the plans compared.

Everything is simulated: acceptance was measured with the shipped models (House), and pass times are
those of the roofline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, Self

import gradio as gr
import plotly.graph_objects as go

from specviz.catalog.entry import title_of
from specviz.cost.adaptive import CheckPlan, Load, deal, measured_drafters
from specviz.cost.formatting import format_speedup
from specviz.cost.measured_costs_text import is_noisy
from specviz.cost.roofline import Serving, shared_pass_time
from specviz.cost.sources import at_default_efficiency, machines, models
from specviz.figures.theme import BG, DEAD, INK, INK2, INK3, P, chart
from specviz.settings.settings import require
from specviz.settings.value_types import parse_number
from specviz.shipped import domain_label
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.cost.shapes import files
from specviz.ui.instrument import Instrument, figure, shown

LOADS: Final = tuple(5 * 2**power for power in range(8))  # requests, a fifth of them per domain
CONTEXT: Final = 512  # number of tokens in each request's cache
# Deployments to choose from: machine and model, in bfloat16. All numbers of requests fit in their
# memory.
SETUPS: Final = {
    "h100": ("h100-sxm", "llama-3.1-8b"),
    "h200": ("h200", "llama-3.1-8b"),
    "h100-4b": ("h100-sxm", "qwen3-4b"),
    "l4": ("l4", "llama-3.2-1b"),
    "rtx-4090": ("rtx-4090", "llama-3.2-1b"),
}
START: Final[dict[str, Any]] = {
    "setup": "h100", "drafter": "dspark", "temperature": 0, "requests": 160, "drafting": 0.1,
    "slots": None,
}  # fmt: skip
LINES: Final = {  # title, colour, width and dash of each plan in the chart
    "whole": ("whole drafts", DEAD, 2, "dot"),
    "static": ("the best single γ", INK2, 2, "dash"),
    "adaptive": ("the likeliest tokens", P, 3, "solid"),
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked.

    slots: number of draft tokens to verify in a pass; None for the best number.
    """

    drafter: str
    temperature: int
    setup: str
    requests: int
    drafting: float
    slots: int | None

    @classmethod
    def from_values(cls, data: Mapping[str, Any]) -> Self:
        """Validate the controls' values. Raises ValueError if they are invalid."""
        temperature, requests, slots = (data.get(n) for n in ("temperature", "requests", "slots"))
        require(temperature in (0, 1), "The temperature must be 0 or 1.")
        require(data.get("drafter") in drafters(), "This drafter was not measured.")
        require(data.get("setup") in setups(), "There is no such deployment.")
        require(requests in LOADS, f"The requests must be one of {', '.join(map(str, LOADS))}.")
        whole = isinstance(slots, int) and not isinstance(slots, bool) and slots >= 0
        require(slots is None or whole, "The draft tokens to check must be a whole number.")
        drafting = parse_number("The time of drafting", data.get("drafting"))
        require(0 <= drafting <= 3, "Drafting must take between 0 and 3 plain passes.")
        names = (str(data["drafter"]), int(str(temperature)), str(data["setup"]))
        return cls(*names, int(str(requests)), drafting, slots)

    def load(self, requests: int) -> Load:
        """Return this number of requests, distributed evenly among the measured domains."""
        serving = deployment(self.setup)

        def seconds(batch: int, tokens: int) -> float:
            return shared_pass_time(serving, batch, tokens).seconds

        domains = measured_drafters(float(self.temperature))[self.drafter].domains
        return Load(deal(requests, domains), seconds, self.drafting * seconds(requests, requests))


def build(place: TabContext) -> None:
    """Build the instrument; without measurements there is none."""
    if START["drafter"] not in drafters():
        return
    first = answer(Ask.from_values(START))["answer"]
    title = "Many requests: how much of each draft to check"
    with Instrument(place, "adaptive", title, "simulated", first) as instrument:
        gr.Markdown(text("cost", "adaptive_lead"))
        with gr.Row():
            setup = gr.Dropdown(
                [(title, name) for name, title in setups().items()], value=START["setup"],
                label="Model and machine",
            )  # fmt: skip
            drafter = gr.Dropdown(
                [(title_of(name), name) for name in drafters()], value=START["drafter"],
                label="Drafter",
            )  # fmt: skip
            temperature = gr.Radio([0, 1], value=START["temperature"], label="Temperature")
        with gr.Row():
            requests = gr.Radio(LOADS, value=START["requests"], label="Requests")
            drafting = gr.Slider(
                0, 1.5, START["drafting"], step=0.05, label="Drafting a round, in plain passes",
                info=text("cost", "adaptive_drafting", measured=measured_cost(START)),
            )  # fmt: skip
        with gr.Row():
            best = gr.Checkbox(True, label="Check the best number of draft tokens")
            slots = gr.Slider(0, 100, 0, step=1, label="Draft tokens to check", interactive=False)
        grid = figure("sv-adaptive-grid", "tokens-to-check")
        example = gr.Markdown()
        speeds = figure("sv-adaptive-speeds", "speed-by-load")
        plans = gr.Markdown(elem_classes="sv-listing")
        gr.Markdown(text("cost", "adaptive_how"), elem_classes="sv-note")
    instrument.wire(
        {
            "setup": setup, "drafter": drafter, "temperature": temperature, "requests": requests,
            "drafting": drafting, "best": best, "slots": slots,
        },
        {
            "drafting": drafting, "slots": slots, "grid": grid, "example": example,
            "speeds": speeds, "plans": plans,
        },
        respond,
        keys={"requests": "requests"},
    )  # fmt: skip


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    chosen = None if values["best"] else int(values["slots"])
    found = answer(Ask.from_values({**values, "slots": chosen}))
    measured = text("cost", "adaptive_drafting", measured=measured_cost(values))
    return {
        "answer": found["answer"], "example": found["example"], "plans": found["plans"],
        "grid": shown(found["grid"], found["answer"]),
        "speeds": shown(found["speeds"], found["answer"]),
        "drafting": gr.Slider(info=measured),
        "slots": gr.Slider(
            maximum=found["most"], value=found["slots"], interactive=not values["best"]
        ),
    }  # fmt: skip


def drafters() -> list[str]:
    """Return the drafters that were measured at both temperatures."""
    return [name for name in measured_drafters(0.0) if name in measured_drafters(1.0)]


def measured_cost(values: Mapping[str, Any]) -> str:
    """Return the time of drafting a round that was measured with the house models."""
    row = measured_drafters(float(values["temperature"]))[values["drafter"]]
    return f"{row.drafting:.2f}"


def setups() -> dict[str, str]:
    """Return the titles of all deployments by name, those with measured speeds last."""
    found = {
        name: f"{models()[model].title} on {machines()[machine].title}"
        for name, (machine, model) in SETUPS.items()
    }
    return found | {name: title for name, (title, _) in measured_setups().items()}


def deployment(name: str) -> Serving:
    """Return a deployment: with its measured speeds, or at the default efficiencies."""
    if name in measured_setups():
        return measured_setups()[name][1]
    machine, model = SETUPS[name]
    return at_default_efficiency(
        Serving(models()[model].shape, machines()[machine].hardware, "bf16", CONTEXT)
    )


@cache
def measured_setups() -> dict[str, tuple[str, Serving]]:
    """Return title and deployment of each model that was measured, unless its times are noisy.

    The roofline then has the measured speeds of memory and arithmetic, and the measured time by
    which a plain pass takes longer.
    """
    found = {}
    for key, file in files().items():
        for costs in file.models:
            steady = [place for place in costs.places if not is_noisy(place)]
            sweep = file.sweep(costs, steady[0]) if steady else None
            serving = sweep.serving(max(0.0, sweep.overhead or 0.0)) if sweep else None
            if serving is not None:
                title = f"{costs.title} on {file.machine}, measured {file.date}"
                found[f"{key}/{costs.name}"] = title, replace(serving, context=CONTEXT)
    return found


@lru_cache(maxsize=256)
def answer(ask: Ask) -> dict[str, Any]:
    """Return the sentences, figures and table; the result is cached, so do not modify it."""
    load = ask.load(ask.requests)
    best, plain = load.best(), load.plain()
    plan = best if ask.slots is None else load.budget(ask.slots)
    gamma, static = load.best_static()
    most = sum(slot.requests for slot in load.slots())
    gain = plan.tokens_per_second / plain.tokens_per_second
    return {
        "answer": text(
            "cost", "adaptive_answer", requests=str(ask.requests), slots=plan.slots, most=most,
            gain=format_speedup(gain), gamma=str(gamma),
            static_gain=format_speedup(static.tokens_per_second / plain.tokens_per_second),
        ) if plan.slots else text("cost", "adaptive_plain", requests=str(ask.requests)),
        "example": example(load, plan),
        "slots": plan.slots,
        "most": most,
        "plans": plans_table(load, plan),
        "grid": grid_figure(load, plan),
        "speeds": speeds_figure(ask, gain),
    }  # fmt: skip


def example(load: Load, plan: CheckPlan) -> str:
    """Return a sentence on a late slot that is verified and an earlier one that is not, or ""."""
    slots = load.slots()
    taken = [slot for slot in slots if plan.checked[slot.group][slot.place] == slot.requests]
    left = [slot for slot in slots if plan.checked[slot.group][slot.place] == 0]
    if not taken or not left:
        return ""
    late, early = max(taken, key=lambda slot: slot.place), min(left, key=lambda slot: slot.place)
    if late.place <= early.place:
        return ""
    return text(
        "cost", "adaptive_example", place=late.place + 1,
        domain=domain_label(load.groups[late.group].name), chance=f"{late.survival:.2f}",
        other_place=early.place + 1, other_domain=domain_label(load.groups[early.group].name),
        other_chance=f"{early.survival:.2f}",
    )  # fmt: skip


def plans_table(load: Load, plan: CheckPlan) -> str:
    """Return the plans as a table: plain decoding, whole drafts, the best single γ, this plan."""
    gamma, static = load.best_static()
    longest = max(len(group.acceptance) for group in load.groups)
    rows = [
        ("Plain decoding", load.plain()),
        ("Whole drafts", load.static(longest)),
        (f"Best single γ: {gamma}", static),
        ("The likeliest tokens", plan),
    ]
    lines = [
        f"| {title} | {plan.slots:,} | {plan.tokens:,.0f} | {1000 * plan.seconds:.2f} "
        f"| {plan.tokens_per_second:,.0f} |"
        for title, plan in rows
    ]
    head = "| | draft tokens checked | tokens a pass | ms | tokens/s |\n|---|--:|--:|--:|--:|\n"
    return head + "\n".join(lines)


def grid_figure(load: Load, plan: CheckPlan) -> go.Figure:
    """Draw the probability that each position of a domain's drafts is kept; outlined: checked."""
    groups = load.groups
    places = max(len(group.acceptance) for group in groups)
    titles = [f"{domain_label(group.name)}, {group.requests} requests" for group in groups]
    padded = [[*group.survival] + [None] * (places - len(group.survival)) for group in groups]
    words = [
        [f"{100 * chance:.0f}%<br>{count} of {group.requests}"
         for chance, count in zip(group.survival, counts, strict=True)]
        + [""] * (places - len(counts))
        for group, counts in zip(groups, plan.checked, strict=True)
    ]  # fmt: skip
    cells = go.Heatmap(
        x=list(range(1, places + 1)), y=titles, z=padded, text=words, texttemplate="%{text}",
        colorscale=[[0, BG], [1, P]], zmin=0, zmax=1.6, showscale=False, xgap=4, ygap=4,
        hovertemplate="place %{x} of %{y}<br>kept and checked: %{text}<extra></extra>",
    )  # fmt: skip
    made = chart(
        [cells], x="place in the draft", height=60 + 52 * len(groups),
        xaxis={"dtick": 1, "showgrid": False, "showline": False},
        yaxis={"autorange": "reversed", "showgrid": False, "showline": False},
    )  # fmt: skip
    for row, (group, counts) in enumerate(zip(groups, plan.checked, strict=True)):
        for place, count in enumerate(counts):
            if count:
                made.add_shape(
                    type="rect", x0=place + 0.53, x1=place + 1.47, y0=row - 0.45, y1=row + 0.45,
                    line={"color": INK, "width": 2,
                          "dash": "solid" if count == group.requests else "dot"},
                )  # fmt: skip
    return made


def speeds_figure(ask: Ask, gain: float) -> go.Figure:
    """Chart each plan's speed-up over plain decoding by the number of requests; mark this load."""
    gains: dict[str, list[float]] = {name: [] for name in LINES}
    for requests in LOADS:
        load = ask.load(requests)
        longest = max(len(group.acceptance) for group in load.groups)
        made = (load.static(longest), load.best_static()[1], load.best())
        for name, plan in zip(LINES, made, strict=True):
            gains[name].append(plan.tokens_per_second / load.plain().tokens_per_second)
    lines = [_line(name, gains[name]) for name in LINES]
    here = go.Scatter(
        x=[ask.requests], y=[gain], mode="markers", marker={"size": 12, "color": P},
        name="this plan", hovertemplate="%{y:.2f} ×<extra></extra>",
    )  # fmt: skip
    drawing = chart(
        [*lines, here], x="requests", y="speed over plain decoding",
        xaxis={"type": "log", "tickvals": LOADS, "ticktext": [str(load) for load in LOADS]},
        yaxis={"rangemode": "tozero", "ticksuffix": " ×"},
    )  # fmt: skip
    return drawing.add_hline(1, line={"color": INK3, "width": 1})


def _line(name: str, gains: Sequence[float]) -> go.Scatter:
    title, colour, width, dash = LINES[name]
    return go.Scatter(
        x=LOADS, y=gains, name=title, mode="lines",
        line={"color": colour, "width": width, "dash": dash},
        hovertemplate="%{x} requests: %{y:.2f} ×<extra>" + title + "</extra>",
    )  # fmt: skip
