"""How much of each draft to verify: a grid of requests and positions, and plans compared.

Results are simulated: acceptance was measured with the shipped models (House), and pass times are
those of the roofline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self, TypedDict

from specviz.catalog.entry import title_of
from specviz.cost.adaptive import CheckPlan, Load, deal, measured_drafters
from specviz.cost.figures.charts import load_figure
from specviz.cost.formatting import format_speedup
from specviz.cost.roofline import Serving, shared_pass_time
from specviz.cost.sources import at_default_efficiency, machines, models
from specviz.frames.scene import Figure
from specviz.settings.settings import require
from specviz.settings.value_types import parse_number
from specviz.shipped import domain_label
from specviz.texts import text
from specviz.ui.component import TabContext, component

NAME: Final = "sv-adaptive"
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


class Asked(TypedDict):
    """The values of the controls.

    Attributes:
        slots: Number of draft tokens to verify in a pass; None for the best number.
    """

    drafter: str
    temperature: int
    setup: str
    requests: int
    drafting: float
    slots: int | None


class Cell(TypedDict):
    """A position in the drafts of a domain's requests.

    Attributes:
        shade: Its survival.
    """

    shade: float
    shown: str
    checked: int
    said: str


class Row(TypedDict):
    """The requests of a domain."""

    title: str
    requests: int
    cells: list[Cell]


class PlanRow(TypedDict):
    """A plan in numbers, as they are shown."""

    name: str
    title: str
    cells: tuple[str, str, str, str]


class Answer(TypedDict):
    """Everything that the page shows.

    Attributes:
        slots: Slots of the plan that is shown.
        best: Slots of the fastest plan.
    """

    answer: str
    example: str
    drafting: str
    rows: list[Row]
    places: int
    slots: int
    best: int
    most: int
    plans: list[PlanRow]
    figure: Figure


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        first: The answer for the initial values.
    """

    start: Asked
    drafters: list[tuple[str, str]]
    setups: list[tuple[str, str]]
    loads: tuple[int, ...]
    first: Answer


START: Final[Asked] = {
    "drafter": "dspark", "temperature": 0, "setup": "h100", "requests": 160, "drafting": 0.1,
    "slots": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """A validated question."""

    drafter: str
    temperature: int
    setup: str
    requests: int
    drafting: float
    slots: int | None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises ValueError if it is invalid."""
        temperature, requests, slots = (data.get(n) for n in ("temperature", "requests", "slots"))
        require(temperature in (0, 1), "The temperature must be 0 or 1.")
        require(data.get("drafter") in drafters(), "This drafter was not measured.")
        require(data.get("setup") in SETUPS, "There is no such deployment.")
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
    """Build the section and connect its events; without measurements there is no section."""
    if START["drafter"] not in drafters():
        return
    config: Config = {
        "start": START,
        "drafters": [(name, title_of(name)) for name in drafters()],
        "setups": [(name, setup_title(name)) for name in SETUPS],
        "loads": LOADS,
        "first": answer(Ask.from_data(START)),
    }
    component(NAME, "cost/adaptive/adaptive", config)
    place.questions.add("adaptive", lambda data: answer(Ask.from_data(data)))


def drafters() -> list[str]:
    """Return the drafters that were measured at both temperatures."""
    return [name for name in measured_drafters(0.0) if name in measured_drafters(1.0)]


def setup_title(name: str) -> str:
    """Return a deployment's title."""
    machine, model = SETUPS[name]
    return f"{models()[model].title} on {machines()[machine].title}"


def deployment(name: str) -> Serving:
    """Return a deployment at the default efficiencies."""
    machine, model = SETUPS[name]
    return at_default_efficiency(
        Serving(models()[model].shape, machines()[machine].hardware, "bf16", CONTEXT)
    )


@lru_cache(maxsize=256)
def answer(ask: Ask) -> Answer:
    """Return everything that the page shows; the result is cached, so do not modify it."""
    load = ask.load(ask.requests)
    best, plain = load.best(), load.plain()
    shown = best if ask.slots is None else load.budget(ask.slots)
    gamma, static = load.best_static()
    most = sum(slot.requests for slot in load.slots())
    gain = shown.tokens_per_second / plain.tokens_per_second
    measured = measured_drafters(float(ask.temperature))[ask.drafter].drafting
    return {
        "answer": text(
            "cost", "adaptive_answer", requests=str(ask.requests), slots=shown.slots, most=most,
            gain=format_speedup(gain), gamma=str(gamma),
            static_gain=format_speedup(static.tokens_per_second / plain.tokens_per_second),
        ) if shown.slots else text("cost", "adaptive_plain", requests=str(ask.requests)),
        "example": example(load, shown),
        "drafting": text("cost", "adaptive_drafting", measured=f"{measured:.2f}"),
        "rows": rows(load, shown),
        "places": max(len(group.acceptance) for group in load.groups),
        "slots": shown.slots,
        "best": best.slots,
        "most": most,
        "plans": plans(load, shown),
        "figure": figure(ask, gain),
    }  # fmt: skip


def rows(load: Load, plan: CheckPlan) -> list[Row]:
    """Return the grid: a row for each domain, and a cell for each position of its drafts."""
    found: list[Row] = []
    for group, counts in zip(load.groups, plan.checked, strict=True):
        cells: list[Cell] = [
            {
                "shade": round(chance, 3),
                "shown": f"{100 * chance:.0f}%",
                "checked": count,
                "said": text(
                    "cost", "adaptive_cell", place=place, domain=domain_label(group.name),
                    chance=f"{chance:.2f}", checked=count, requests=group.requests,
                ),
            }
            for place, (chance, count) in enumerate(zip(group.survival, counts, strict=True), 1)
        ]  # fmt: skip
        found.append(
            {"title": domain_label(group.name), "requests": group.requests, "cells": cells}
        )
    return found


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


def plans(load: Load, shown: CheckPlan) -> list[PlanRow]:
    """Return the plans: plain decoding, whole drafts, the best single γ, and the plan shown."""
    gamma, static = load.best_static()
    longest = max(len(group.acceptance) for group in load.groups)
    found = [
        ("plain", "Plain decoding", load.plain()),
        ("whole", "Whole drafts", load.static(longest)),
        ("static", f"Best single γ: {gamma}", static),
        ("adaptive", "The likeliest slots", shown),
    ]
    return [
        {
            "name": name,
            "title": title,
            "cells": (
                f"{plan.slots:,}", f"{plan.tokens:,.0f}", f"{1000 * plan.seconds:.2f}",
                f"{plan.tokens_per_second:,.0f}",
            ),
        }
        for name, title, plan in found
    ]  # fmt: skip


def figure(ask: Ask, gain: float) -> Figure:
    """Draw a chart of each plan's best speed-up over plain decoding, by number of requests."""
    gains: dict[str, list[float]] = {"whole": [], "static": [], "adaptive": []}
    for requests in LOADS:
        load = ask.load(requests)
        plain = load.plain().tokens_per_second
        longest = max(len(group.acceptance) for group in load.groups)
        made = {
            "whole": load.static(longest),
            "static": load.best_static()[1],
            "adaptive": load.best(),
        }
        for name, plan in made.items():
            gains[name].append(plan.tokens_per_second / plain)
    return load_figure(LOADS, gains, (ask.requests, gain))
