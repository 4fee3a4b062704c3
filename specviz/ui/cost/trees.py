"""Draft trees by the formula: an instrument that compares a typed tree, a chain and the best tree.

Everything is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, Final

import gradio as gr

from specviz.cost import formula, tree_formula
from specviz.cost.figures.formula import trees_figure
from specviz.cost.formatting import format_speedup
from specviz.cost.formula import SpeedupModel
from specviz.settings.settings import require
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.cost import speedup
from specviz.ui.instrument import Instrument, figure, shown

START: Final[dict[str, Any]] = {
    **speedup.START, "widths": "3, 2, 1, 1", "places": "0.65, 0.11, 0.05",
}  # fmt: skip
MAX_LIST: Final = 100  # maximum characters of a list
MOST_GUESSES: Final = 64
MOST_PLACES: Final = 8
DEEPEST: Final = 12


@dataclass(frozen=True, slots=True)
class Expected:
    """A tree, with its expected results by the formula."""

    name: str
    parents: list[int]
    reached: list[float]
    tokens: float
    levels: int
    speedup: float


def build(place: TabContext) -> None:
    """Build the instrument."""
    first = sentence(compare(START))
    with Instrument(place, "trees", "Draft trees", "simulated", first) as instrument:
        with gr.Row():
            widths = gr.Textbox(
                START["widths"], label="Children per node, level by level", max_length=MAX_LIST,
                info=text("cost", "trees_widths"), min_width=300,
            )  # fmt: skip
            places = gr.Textbox(
                START["places"], label="Acceptance by rank: first child, second, …",
                max_length=MAX_LIST, info=text("cost", "trees_places"), min_width=300,
            )  # fmt: skip
        drawing = figure("sv-trees-compared", "trees-compared")
        table = gr.Markdown(elem_classes="sv-listing")
        gr.Markdown(text("cost", "trees_how"), elem_classes="sv-note")
    instrument.wire(
        {"widths": widths, "places": places},
        {"figure": drawing, "table": table},
        respond,
        keys={"widths": "widths", "places": "places"},
        shared={name: place.controls[name] for name in ("alpha", "c", "verify")},
    )


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    trees = compare(values)
    said = sentence(trees)
    rows = [
        f"| {tree.name} | {tree.tokens:.3f} | {tree.levels} | {format_speedup(tree.speedup)} |"
        for tree in trees
    ]
    head = ["| | tokens a round | levels | speed-up |", "|---|--:|--:|--:|"]
    drawn = [(tree.name, tree.parents, tree.reached) for tree in trees]
    return {
        "answer": said,
        "figure": shown(trees_figure(drawn), said),
        "table": "\n".join([*head, *rows]),
    }


def compare(values: Mapping[str, Any]) -> list[Expected]:
    """Return the typed tree, a chain and the best tree of the same size. Raises ValueError."""
    shape, chances = parse_widths(str(values["widths"])), parse_places(str(values["places"]))
    terms = speedup.terms_of({**speedup.START, **values})
    typed = tree_formula.full_tree(shape)
    guesses = len(typed) - 1
    kinds = (
        ("Your tree", typed),
        ("A chain", list(range(-1, guesses))),
        ("Most tokens", tree_formula.best_tree(chances, guesses)),
    )
    return [_expected(name, parents, chances, terms) for name, parents in kinds]


def _expected(name: str, parents: list[int], chances: list[float], terms: SpeedupModel) -> Expected:
    keep = tree_formula.acceptance_by_position(parents, chances)
    reached = tree_formula.path_probabilities(parents, keep)
    levels, tokens = max(tree_formula.depths(parents)), sum(reached)
    gain = formula.speedup_from_tokens(tokens, levels * terms.c, terms.verify)
    return Expected(name, parents, reached, tokens, levels, gain)


def sentence(trees: list[Expected]) -> str:
    """Compare the typed tree, a chain and the best tree in one sentence."""
    fastest = max(trees, key=lambda tree: tree.speedup)
    most = format_speedup(trees[2].speedup)
    same = fastest is trees[2] or format_speedup(fastest.speedup) == most
    tree, chain, best = (f"{each.tokens:.3f}" for each in trees)
    return text(
        "cost", "trees_compared", guesses=len(trees[0].parents) - 1, tree=tree, chain=chain,
        best=best, faster="" if same else fastest.name.lower(),
    )  # fmt: skip


def parse_widths(typed: str) -> list[int]:
    """Parse the number of children of a node at each depth, typed as in "3, 2, 1"."""
    found = [int(_number(part, whole=True)) for part in _parts(typed, DEEPEST)]
    guesses, level = 0, 1
    for width in found:
        level *= width
        guesses += level
        require(guesses <= MOST_GUESSES, f"This tree has more than {MOST_GUESSES} draft tokens.")
    require(min(found) >= 1, "Each level needs at least 1 child, as in 3, 2, 1, 1.")
    return found


def parse_places(typed: str) -> list[float]:
    """Parse acceptance by sibling rank, typed as in "0.65, 0.11"."""
    found = [_number(part) for part in _parts(typed, MOST_PLACES)]
    possible = all(0.0 <= chance <= 1.0 for chance in found)
    require(possible, "Acceptance probabilities lie between 0 and 1, as in 0.65, 0.11.")
    falling = all(after <= before for before, after in pairwise(found))
    require(falling, "A later sibling cannot have a higher probability than an earlier one.")
    total = f"{sum(found):.4g}"
    said = f"Only one sibling can be accepted, but these probabilities sum to {total}."
    require(sum(found) <= 1.0 + 1e-9, said)
    return found


def _parts(typed: str, most: int) -> list[str]:
    require(len(typed) <= MAX_LIST, f"The list is longer than {MAX_LIST} characters.")
    found = typed.replace(",", " ").split()
    require(1 <= len(found) <= most, f"Type 1 to {most} numbers, separated by commas.")
    return found


def _number(part: str, whole: bool = False) -> float:
    kind = "an integer" if whole else "a number"
    try:
        found = float(int(part)) if whole else float(part)
    except (ValueError, OverflowError):
        found = float("nan")
    require(isfinite(found), f"“{part[:20]}” is not {kind}.")
    return found
