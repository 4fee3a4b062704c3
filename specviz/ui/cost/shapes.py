"""Costs of public model sizes on machines, from shipped files or from a visitor's file.

Seconds were measured on the machine that is named; numbers that depend on α are simulated. A
visitor's file is validated like any other and not stored. No model is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import median
from typing import Any, Final

import gradio as gr

from specviz.cost.figures.sweep import sweep_figure
from specviz.cost.formatting import format_milliseconds, format_passes
from specviz.cost.measured_costs import (
    MAX_CHARACTERS,
    ContextCosts,
    CostFile,
    ModelCosts,
    load_shipped,
    round_costs,
    shipped_paths,
)
from specviz.cost.measured_costs_text import (
    describe_machine,
    describe_method,
    format_break_even,
    headline,
)
from specviz.cost.sweep_text import format_middle_half, pass_rows
from specviz.settings.settings import require
from specviz.settings.value_types import parse_number
from specviz.texts import text
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.component import TabContext
from specviz.ui.instrument import DIRECT, Instrument, figure, shown, verbatim
from specviz.ui.table import Cell, data_table, filled

OWN: Final = "own"  # the visitor's file in the list of files
# Lets the visitor choose a file, and returns its text; no file leaves the browser otherwise.
OPEN: Final = """(before) => new Promise((resolve) => {
  const picker = Object.assign(document.createElement("input"), { type: "file", accept: ".json" });
  picker.oncancel = () => resolve(before);
  picker.onchange = () => resolve(picker.files[0].slice(0, %d).text());
  picker.click();
})"""
DRAFTERS: Final = {
    "drafter": 240, "drafting, ms": 90, "middle 50%": 110, "in plain passes": 90,
    "c, per level": 90, "verification": 100, "acceptance": 100, "whole round": 90,
    "pays from α (simulated)": 110, "speed-up at this α (simulated)": 140,
}  # fmt: skip
PASSES: Final = (
    "| tokens in the pass | measured, ms | plain passes | roofline, ms (simulated) |\n"
    "|--:|--:|--:|--:|"
)


def build(place: TabContext) -> None:
    """Build the instrument."""
    for path in shipped_paths():
        report_if_broken(
            "One of the machines measured below cannot be shown.", partial(load_shipped, path)
        )
    known = [(describe_machine(file), name) for name, file in files().items()]
    known.append(("Your own file", OWN))
    first = text("cost", "shapes_none")
    if shipped := [*files().values()]:
        costs = shipped[0].models[0]
        first = verbatim(headline(shipped[0], costs, costs.places[0])[0])
    title = "Public model sizes, measured"
    with Instrument(place, "shapes", title, "measured", first) as instrument:
        gr.Markdown(text("cost", "shapes_lead"))
        file = gr.Dropdown(known, value=known[0][1], label="Machine and date")
        with gr.Row():
            model = gr.Dropdown([], label="Target")
            context = gr.Dropdown([], label="Context before the pass, tokens")
        with gr.Accordion("Measure your own machine", open=False):
            gr.Markdown(text("cost", "shapes_own"))
            pick = gr.Button("Open your own file", elem_classes="sv-job-start")
            own = gr.Textbox(label="Or paste its content here", lines=3, max_lines=3)
        caution = gr.Markdown(elem_classes="sv-notice", visible=False)
        passes = figure("sv-shapes-passes", "pass-times")
        drafters = data_table("sv-shapes-drafters", "What a round costs, by drafter")
        how = gr.Markdown(elem_classes="sv-note", elem_id="sv-shapes-how")
        with gr.Accordion("All passes", open=False):
            numbers = gr.Markdown(elem_classes="sv-listing")
    instrument.wire(
        {"model": model, "context": context},
        {
            "model": model, "context": context, "caution": caution, "passes": passes,
            "drafters": drafters, "how": how, "numbers": numbers,
        },
        respond,
        shared={"file": file, "text": own, "alpha": place.controls["alpha"]},
    )  # fmt: skip
    pick.click(None, own, own, js=OPEN % (4 * MAX_CHARACTERS), **DIRECT)
    own.change(lambda text: OWN if text.strip() else gr.skip(), own, file, **DIRECT)


def files() -> Mapping[str, CostFile]:
    """Return the shipped files by name, except broken ones."""
    found = {
        path.stem: read_unless_broken(partial(load_shipped, path), None) for path in shipped_paths()
    }
    return {name: file for name, file in found.items() if file}


def chosen_file(name: Any, own: str | None) -> CostFile:
    """Return a shipped file or the visitor's own. Raises ValueError if there is none."""
    if name == OWN:
        require(bool(own and own.strip()), "Open a file, or paste its content.")
        return CostFile.from_text(own or "")
    known = files()
    require(isinstance(name, str) and name in known, "There is no shipped file like this.")
    return known[name]


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid.

    A model or context length that was not measured is replaced by the first one.
    """
    alpha = parse_number("α", values["alpha"])
    require(0 <= alpha <= 1, f"α must be a probability from 0 to 1, not {alpha:g}.")
    file = chosen_file(values["file"], values["text"])
    costs = next((one for one in file.models if one.name == values["model"]), file.models[0])
    place = next((one for one in costs.places if one.context == values["context"]), costs.places[0])
    sweep = file.sweep(costs, place)
    said, against = headline(file, costs, place)
    titles = [(one.title, one.name) for one in file.models]
    contexts = [(f"{one.context:,}", one.context) for one in costs.places]
    return {
        "answer": verbatim(said),
        "model": gr.Dropdown(titles, value=costs.name),
        "context": gr.Dropdown(contexts, value=place.context),
        "caution": gr.Markdown(verbatim(against), visible=bool(against)),
        "passes": shown(sweep_figure(sweep), said),
        "drafters": drafters_table(costs, place, alpha),
        "how": text(
            "cost", "shapes_how", machine=verbatim(describe_machine(file)),
            how=verbatim(describe_method(file, costs, place)),
            command=verbatim(file.command),
        ),
        "numbers": "\n".join([PASSES, *(
            f"| {tokens} | {measured} | {passes} | {roofline} |"
            for tokens, measured, _, passes, roofline in pass_rows(sweep)
        )]),
    }  # fmt: skip


def drafters_table(costs: ModelCosts, place: ContextCosts, alpha: float) -> dict[str, Any]:
    """Return the update of the table of what a round of each drafter costs."""
    rows: list[list[Cell]] = []
    for drafter, times, cost in round_costs(costs, place):
        gain = cost.speedup(alpha)
        speedup = f"**{format_passes(gain)} ×**" if gain > 1.0 else f"{format_passes(gain)} ×"
        rows.append([
            (drafter.title, f"**{verbatim(drafter.title)}** {verbatim(drafter.about)}"),
            _numeric(format_milliseconds(median(times.draft))),
            format_middle_half(times.draft),
            _numeric(format_passes(cost.draft)),
            _numeric(f"{cost.level:.3f}"),
            *(_numeric(format_passes(each)) for each in (cost.check, cost.rest, cost.total)),
            format_break_even(cost),
            (float(format_passes(gain)), speedup),
        ])  # fmt: skip
    return filled(DRAFTERS, rows)


def _numeric(number: str) -> Cell:
    return float(number), number
