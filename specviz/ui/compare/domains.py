"""The map of drafters by domain on the shipped prompts, recorded or measured live.

A live measurement is one job in the queue; if it is stopped, finished turns are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import gradio as gr
import plotly.graph_objects as go

from specviz.catalog.entry import title_of
from specviz.compare import domains
from specviz.compare.domains import Cell, Plan, choices
from specviz.compare.domains.heatmap import HeatMap, Measure, Row, view
from specviz.compare.lanes import join_names
from specviz.figures.plot import escaped
from specviz.figures.theme import BG, COLOURS, chart
from specviz.glossary import GLOSSARY
from specviz.settings.settings import BadSettings, require
from specviz.settings.value_types import parse_integer, parse_number
from specviz.shipped import domain_label
from specviz.texts import count, text
from specviz.trace.codec import from_plain
from specviz.ui.compare.race import recorded as races
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.live import PRIVATE, job_view
from specviz.ui.request import HOUSE
from specviz.ui.stream import progress
from specviz.ui.task import JobContext, Task, gpu_seconds, limit_text

if TYPE_CHECKING:
    from specviz.compare.domains.run import Measurements
    from specviz.models.target import Target

USUAL: Final = ("draft-model", "eagle3", "medusa", "ngram")
FORM: Final = ("drafters", "prompts", "tokens", "warmth", "seed")  # arguments of `planned`
PAUSE: Final = 1.0  # seconds between lines, since sending a line takes time from the measurement
LIVE: Final = "live"
USUAL_ORDER: Final = ""
LEAST_WIDTH: Final = 600  # of the map, in pixels; on phones it is scrolled sideways
NAMES_WIDTH: Final = 150  # of the drafters' names; plotly leaves no room for them in a scrolled map
MEASURES: Final[Mapping[Measure, str]] = {"speedup": "Speed-up", "accepted": "Accepted length"}
COLUMNS: Final = {  # of a file, by the names of a cell's numbers
    "speedup": "speedup_times_plain",
    "lowest": "lowest_speedup_times_plain",
    "highest": "highest_speedup_times_plain",
    "accepted_length": "accepted_length_tokens_per_round",
    "tokens_per_pass": "tokens_per_target_pass",
    "alpha": "alpha",
    "guesses_per_round": "guesses_per_round",
    "tokens_per_second": "tokens_per_second",
    "prompts": "prompts_measured",
    "tokens": "new_tokens_in_all_runs",
    "seconds": "all_runs_seconds",
}
SAVE: Final = "(given) => { window.specviz.saveData(...JSON.parse(given)) }"


def build(place: TabContext) -> None:
    """Build the instrument."""
    maps = [(f"Recorded, temperature {one.name}", one.name) for one in recorded_maps()]
    first = Map.of(maps[0][1], None).sentence if maps else "No measurement is recorded."
    title = "By domain: which drafter is fastest where"
    with Instrument(place, "domains", title, "measured", first) as instrument:
        where = gr.Markdown()
        with gr.Row():
            name = gr.Radio(
                [*maps, ("Live", LIVE)], value=maps[0][1] if maps else None, label="Measurement"
            )
            measure = gr.Radio(
                [(title, key) for key, title in MEASURES.items()], value="speedup",
                label="Quantity shown",
            )  # fmt: skip
            columns = Map.of(maps[0][1], None).view["columns"] if maps else []
            sorts = [(column["title"], column["name"]) for column in columns]
            order = gr.Dropdown(
                [("the usual order", USUAL_ORDER), *sorts], value=USUAL_ORDER,
                label="Drafters sorted by",
            )  # fmt: skip
        heat = figure("sv-domains-map", "map-of-domains")
        note = gr.Markdown(elem_classes="sv-note")
        with gr.Row():
            savers = {
                kind: gr.Button(f"Save as {kind}", size="sm", scale=0, min_width=140)
                for kind in ("CSV", "JSON")
            }
            file = gr.Textbox(visible=False)
        gr.Markdown("### Measure it on this machine")
        form, size = build_form(place)
        live = gr.State()

        def wanted(*values: Any) -> Task:
            return measured_live(planned(*values))

        label = "Run on this machine"
        job = job_view(place, "sv-domains-live", (label, "Stop"), wanted, list(form.values()))
    instrument.wire(
        {"map": name, "measure": measure, "order": order, "live": live, **form},
        {"map": name, "where": where, "order": order, "heat": heat, "note": note, "size": size},
        respond,
    )
    instrument.hear(job.result, lambda event, _: received(event.value))
    for kind, button in savers.items():
        button.click(
            partial(saved, kind), [name, measure, order, live], file, queue=False, **PRIVATE
        ).then(None, file, None, js=SAVE, **PRIVATE)


def build_form(place: TabContext) -> tuple[dict[str, Any], gr.Markdown]:
    """Build the form of a measurement, and what says its size."""
    drafters = gr.CheckboxGroup(choices(), value=list(USUAL), label="Drafters")
    with gr.Row():
        prompts = gr.Slider(1, domains.max_prompts(), 1, step=1, label="Prompts per domain")
        tokens = gr.Slider(
            domains.MIN_TOKENS, domains.MAX_TOKENS, 24, step=8, label="New tokens per run"
        )
    with gr.Row():
        warmth = gr.Slider(0, domains.MAX_TEMPERATURE, 0, step=0.1, label="Temperature")
        seed = gr.Number(1, precision=0, label="Seed for the order of runs")
    size = gr.Markdown(Plan(USUAL).size)
    gr.Markdown(limit_text(place.runs.limit), elem_classes="sv-note")
    return dict(zip(FORM, (drafters, prompts, tokens, warmth, seed), strict=True)), size


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    found = {"size": verbatim(size(*(values[name] for name in FORM)))}
    live = values["live"]
    if values["map"] is None and not live:
        return found
    one = Map.of(values["map"], live)
    order = str(values["order"] or USUAL_ORDER)
    measure: Measure = "accepted" if values["measure"] == "accepted" else "speedup"
    return found | {
        "answer": one.sentence,
        "where": f"**{one.badge}** · {verbatim(one.where)}"
        + (f"\n\n{verbatim(one.caution)}" if one.caution else ""),
        "map": one.name,
        "order": order,
        "heat": shown(drawing(one, measure, order), one.sentence),
        "note": notes(measure),
    }


@dataclass(frozen=True)
class Map:
    """A map as it is shown. name: its temperature, or LIVE."""

    name: str
    heat: HeatMap
    badge: str
    where: str
    other_machine: str = ""

    @classmethod
    def of(cls, name: Any, live: Live | None) -> Map:
        """Return the map with this name. Raises ValueError if there is none."""
        if name == LIVE:
            require(live is not None, "Nothing was measured here yet: run it below.")
            assert live is not None
            return live.map()
        found = next((one for one in recorded_maps() if one.name == name), None)
        if found is None:
            raise ValueError("There is no measurement of this name.")
        return found

    @cached_property
    def view(self) -> Any:
        """Its numbers, marks and sentences."""
        return view(self.heat)

    @property
    def sentence(self) -> str:
        """What it shows."""
        return f"**{self.view['headline']}** {self.view['detail']}".strip()

    @property
    def caution(self) -> str:
        """What to keep in mind; may be empty."""
        return " ".join(filter(None, [self.view["caution"], self.other_machine]))

    def rows(self, measure: Measure, order: str) -> list[Row]:
        """Return the drafters in order, the references last."""
        cells = self.view["cells"]

        def key(row: Row) -> tuple[bool, bool, float]:
            cell = cells.get(f"{row['name']} {order}")
            number = float(cell[measure][0].split()[0]) if cell else 0.0
            return row["bound"], bool(order) and cell is None, -number if order else 0.0

        return sorted(self.view["rows"], key=key)


def recorded_maps() -> list[Map]:
    """Return the shipped maps by temperature."""
    return [
        Map(
            f"{one.temperature:g}",
            HeatMap.from_cells(one.cells, one.drafters, one.domains, one.prompts),
            "recorded",
            " · ".join((one.where, *_size(one.prompts, one.new_tokens), f"T {one.temperature:g}")),
            _other_machine(one.machine),
        )
        for one in domains.recorded()
    ]


def _size(prompts: int, tokens: int) -> tuple[str, str]:
    return f"{count(prompts, 'prompt')} per domain", f"{tokens} new tokens"


def _other_machine(machine: str) -> str:
    others = sorted(races.machines() - {machine})
    values = {"machine": machine, "others": join_names(others)}
    return text("compare", "map_other_machine", **values) if others else ""


def notes(measure: Measure) -> str:
    """Return what the numbers mean."""
    mean = GLOSSARY["mean over domains"]
    about = (
        text("compare", "note_speedup", mean=mean[:1].lower() + mean[1:])
        if measure == "speedup"
        else text("compare", "note_accepted")
    )
    return " ".join([text("compare", "map_key"), text("compare", "map_references"), about])


def drawing(one: Map, measure: Measure, order: str) -> go.Figure:
    """Draw the map: a row per drafter, a column per domain."""
    rows, columns, cells = one.rows(measure, order), one.view["columns"], one.view["cells"]
    grid = [[cells.get(f"{row['name']} {column['name']}") for column in columns] for row in rows]
    names = [escaped(row["title"]) + (" *" if row["bound"] else "") for row in rows]
    heat = go.Heatmap(
        x=[escaped(column["title"]) for column in columns], y=names,
        z=[[0 if cell is None else cell[measure][1] for cell in row] for row in grid],
        text=[[_words(cell, measure) for cell in row] for row in grid], texttemplate="%{text}",
        textfont={"size": 13},
        hovertext=[[_hint(cell) for cell in row] for row in grid],
        hovertemplate="%{hovertext}<extra></extra>", colorscale=[[0, BG], [1, COLOURS["line2"]]],
        zmin=0, zmax=1, showscale=False, xgap=2, ygap=2,
    )  # fmt: skip
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    made = chart(
        [heat],
        height=70 + 34 * len(rows),
        xaxis={"side": "top", **plain},
        yaxis={"autorange": "reversed", **plain},
    )
    return made.update_layout(minreducedwidth=LEAST_WIDTH, margin={"l": NAMES_WIDTH})


def _words(cell: Any, measure: Measure) -> str:
    if cell is None:
        return "–"
    number, _, marks = cell[measure]
    words = ("▼ " if "slower" in marks else "") + number.split()[0]
    words = f"<b>{words}</b>" if "best" in marks else words
    return words + (f" ({cell['part']})" if "part" in cell else "")


def _hint(cell: Any) -> str:
    if cell is None:
        return "Not measured"
    first, *others = map(escaped, cell["said"])
    return "<br>".join([f"<b>{first}</b>", *others])


def planned(drafters: Any, prompts: Any, tokens: Any, warmth: Any, seed: Any) -> Plan:
    """Build the plan from the form's values. Raises BadSettings if a value is invalid."""
    named = isinstance(drafters, list) and all(isinstance(name, str) for name in drafters)
    require(named, "The drafters must be a list of names.")
    return Plan(
        tuple(drafters),
        parse_integer("Prompts per domain", prompts),
        parse_integer("New tokens", tokens),
        parse_number("Temperature", warmth),
        parse_integer("The order seed", seed),
    )


def size(*values: Any) -> str:
    """Return the amount of work for the form's values, or the error in them, as a sentence."""
    try:
        return planned(*values).size
    except BadSettings as problem:
        return str(problem)


@dataclass(frozen=True, slots=True)
class Live:
    """A live measurement so far, as the page sends it back."""

    id: str
    drafters: list[str]
    prompts: int
    tokens: int
    temperature: float
    seed: int
    where: str
    done: int
    over: bool
    cells: list[Cell]

    def map(self) -> Map:
        """Return its map."""
        plan = Plan(tuple(self.drafters), self.prompts, self.tokens, self.temperature, self.seed)
        heat = HeatMap.from_cells(self.cells, plan.drafters, plan.domains, plan.prompts)
        turns = len(plan.order)
        stopped = self.over and self.done < turns
        parts = (
            self.where, *_size(plan.prompts, plan.new_tokens), f"T {plan.temperature:g}",
            f"order seed {plan.order_seed}",
        )  # fmt: skip
        badge = f"live, stopped after {self.done} of {turns}" if stopped else "live"
        return Map(LIVE, heat, badge, " · ".join(parts))


def received(value: Any) -> dict[str, Any]:
    """Return new values of controls for a line of the live measurement. Raises ValueError."""
    try:
        live: Live = from_plain(Live, value)
        live.map()
    except (TypeError, ValueError) as problem:
        raise ValueError("These measurements cannot be read.") from problem
    return {"live": live, "map": LIVE}


def measured_live(plan: Plan) -> Task:
    """Create the task of a measurement. A stop takes effect after the current turn."""
    return Task(
        partial(stream_domains, plan), gpu_seconds(HOUSE, 2 * len(plan.order) * plan.new_tokens)
    )


def stream_domains(plan: Plan, context: JobContext) -> Iterator[str]:
    """Load the models, then measure turn by turn."""
    yield context.says("loading")
    target, loaded = context.load(HOUSE, plan.drafters)
    if context.unwanted():
        return
    from specviz.compare.domains.run import Measurements, TurnStarted, run

    by_name = dict(zip(plan.drafters, loaded, strict=True))
    measured, where, sent, number = Measurements(), describe(target), -PAUSE, 0
    try:
        with closing(run(target, by_name, plan, context.unwanted)) as events:
            for event in events:
                measured.add(event)
                due = perf_counter() - sent >= PAUSE
                if isinstance(event, TurnStarted) and due:
                    sent, number = perf_counter(), event.number
                    yield news(plan, where, context.nonce, measured, number)
                else:
                    yield ""  # no line is due, but the job may be interrupted here
    finally:  # also keeps the turns before an error
        if number:
            yield news(plan, where, context.nonce, measured, 0)


def news(plan: Plan, where: str, nonce: str, measured: Measurements, number: int) -> str:
    """Return the line for a turn that begins, or the last line if its number is 0."""
    sentence = ""
    if number:
        turn = plan.order[number - 1]
        named = {"drafter": title_of(turn.drafter), "domain": domain_label(turn.domain)}
        sentence = f"Turn {number} of {len(plan.order)}: "
        sentence += text("compare", "map_turn", prompt=turn.prompt + 1, **named)
    live = Live(
        nonce, list(plan.drafters), plan.prompts, plan.new_tokens, plan.temperature,
        plan.order_seed, where, measured.done, not number, measured.cells,
    )  # fmt: skip
    return progress(nonce, measured.done, len(plan.order), sentence, asdict(live))


def describe(target: Target) -> str:
    """Return the machine and the number format as text."""
    from specviz.models.devices import describe_device

    return f"{describe_device(target.device)} · {str(target.dtype).removeprefix('torch.')}"


def saved(kind: str, name: Any, measure: Any, order: Any, live: Live | None) -> str:
    """Return what the page saves in a file, as JSON: its kind, its name, rows, and all data."""
    one = Map.of(name, live)
    called = LIVE if one.name == LIVE else f"temperature-{one.name}"
    cells = numbers(one, measure, order)
    rows = [{**cell, "source": one.badge, "where": one.where} for cell in cells]
    data = {
        "source": one.badge, "where": one.where, "headline": one.view["headline"],
        "detail": one.view["detail"], "caution": one.caution or None, "cells": cells,
    }  # fmt: skip
    return json.dumps([kind, f"map-of-domains-{called}", rows, data])


def numbers(one: Map, measure: Measure, order: str) -> list[dict[str, Any]]:
    """Return the numbers of each cell, not rounded; None where nothing was measured."""
    found = []
    for row in one.rows(measure, order):
        for column in one.view["columns"]:
            cell = one.view["cells"].get(f"{row['name']} {column['name']}")
            known = cell["numbers"] if cell else {}
            whose = {
                "drafter": row["name"], "title": row["title"], "is_reference": row["bound"],
                "domain": column["name"],
            }  # fmt: skip
            found.append(whose | {title: known.get(key) for key, title in COLUMNS.items()})
    return found
