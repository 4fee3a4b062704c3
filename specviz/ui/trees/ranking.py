"""Ranking of a tree's guesses by products of probabilities or by sums of their logs: an instrument.

In exact arithmetic the order is the same; what rounding does is shown on the tab Lossless?.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from specviz.texts import text
from specviz.trees.rounding import advice, load_study
from specviz.ui.broken import read_unless_broken
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown
from specviz.ui.lossless.rounding import HOW, Lab
from specviz.ui.trees.drawing import list_live, names

PRECISE: Final = "float64"


def build(place: TabContext) -> None:
    """Build the instrument."""
    title, first = "Multiply probabilities, or add their logs?", advised()
    with Instrument(place, "ranking", title, "computed exactly", first) as instrument:
        gr.Markdown(text("trees", "ranking_lead"))
        trees = [(title, name) for name, title in names()]
        tree = gr.Dropdown(trees, value=trees[0][1], label="Tree")
        how = gr.Radio([(t, n) for n, t in HOW.items()], value="sum", label="Ranked by")
        ranked = figure("sv-ranking-tree", "ranked-tree")
        gr.Markdown(text("trees", "ranking_legend"), elem_classes="sv-note")
    instrument.wire({"tree": tree, "how": how}, {"ranked": ranked}, respond)
    list_live(place, tree, trees)
    if rounding := place.controls.get("rounding"):
        list_live(place, rounding, rounding.choices)


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    lab = Lab.of(values["tree"])
    trees = [lab.trees[f"{how} {PRECISE}"].grown for how in HOW]
    orders = [[one.path(node) for node in one.order[: len(one.kept)]] for one in trees]
    said = text("trees", "ranking_order", guesses=len(orders[0]) - 1, same=orders[0] == orders[1])
    drawn = lab.drawing(f"{values['how']} {PRECISE}")
    return {"answer": f"{advised()}\n\n{said}", "ranked": shown(drawn, said)}


def advised() -> str:
    """Return the study's advice; without a study, the explanation of both ways."""
    study = read_unless_broken(load_study, None)
    return advice(study) if study else text("trees", "ranking_lead")
