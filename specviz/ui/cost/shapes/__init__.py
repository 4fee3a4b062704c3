"""Costs of public model sizes on machines, from shipped files or from a visitor's file.

Seconds were measured on the machine that is named; numbers that depend on α are simulated. A
visitor's file is validated like any other and not stored. No model is run, so questions bypass the
queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self, TypedDict

from specviz.cost import measured_costs_text
from specviz.cost.figures.measured import sweep_figure
from specviz.cost.formatting import format_milliseconds, format_passes
from specviz.cost.measured_costs import (
    MAX_CHARACTERS,
    ContextCosts,
    CostFile,
    ModelCosts,
    load_shipped,
    shipped_paths,
)
from specviz.cost.measured_costs_text import DrafterRow
from specviz.cost.sweep import Sweep
from specviz.frames.scene import Figure
from specviz.settings.settings import require
from specviz.settings.value_types import parse_number
from specviz.ui.broken import lacking, spared
from specviz.ui.component import TabContext, component
from specviz.ui.cost.pair import START as TERMS
from specviz.ui.cost.pair import Pair

NAME: Final = "sv-shapes"
# Maximum characters of a question, which may contain an escaped file; the file has its own limit.
LONGEST: Final = 8 * MAX_CHARACTERS
PassRow = tuple[str, str, str, str]  # tokens, ms, plain passes, and the roofline's ms


class Answer(TypedDict):
    """Everything that the page shows; `models` and `files` are names with titles."""

    models: list[tuple[str, str]]
    contexts: list[int]
    model: str
    context: int
    where: str
    answer: str
    caution: str
    how: str
    command: str
    rows: list[DrafterRow]
    passes: list[PassRow]
    figure: Figure


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        files: Names of the shipped files, with titles.
        first: The answer for the first file, so that the page does not change when the first answer
            arrives.
        largest: Maximum characters of a file.
    """

    terms: Pair
    files: list[tuple[str, str]]
    first: Answer | None
    largest: int


@dataclass(frozen=True, slots=True)
class Ask:
    """The values of the controls.

    Attributes:
        file: The measured costs.
        model: Name of a model in the file; the first one is used if there is none with this name.
        context: Tokens before the pass; if it was not measured, the first context of the model is
            used.
        alpha: The acceptance probability.
    """

    file: CostFile
    model: str
    context: int
    alpha: float

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises ValueError if it is invalid."""
        name, text, alpha = data.get("file"), data.get("text"), parse_number("α", data.get("alpha"))
        require(0 <= alpha <= 1, f"α must be a probability from 0 to 1, not {alpha:g}.")
        if isinstance(text, str):
            file = CostFile.from_text(text)
        else:
            require(
                isinstance(name, str) and name in files(), "There is no shipped file of this name."
            )
            file = files()[str(name)]
        model, context = data.get("model"), data.get("context")
        return cls(file, str(model), context if isinstance(context, int) else 0, alpha)

    @property
    def costs(self) -> ModelCosts:
        """The costs of the chosen model, or of the first."""
        models = self.file.models
        return next((one for one in models if one.name == self.model), models[0])

    @property
    def place(self) -> ContextCosts:
        """The costs at the chosen context length, or at the first if that was not measured."""
        places = self.costs.places
        return next((one for one in places if one.context == self.context), places[0])


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    for path in shipped_paths():
        lacking("One of the machines measured below cannot be shown.", partial(load_shipped, path))
    component(NAME, "cost/shapes/shapes", config())
    place.questions.add("shapes", section_facts, LONGEST)


def config() -> Config:
    """Return the page's initial data."""
    known = files()
    return {
        "terms": TERMS,
        "files": [
            (name, measured_costs_text.describe_machine(file)) for name, file in known.items()
        ],
        "first": next((section_facts({**TERMS, "file": name}) for name in known), None),
        "largest": MAX_CHARACTERS,
    }


def files() -> Mapping[str, CostFile]:
    """Return the shipped files by name, except broken ones."""
    found = {path.stem: spared(partial(load_shipped, path), None) for path in shipped_paths()}
    return {name: file for name, file in found.items() if file}


def section_facts(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises ValueError if it is invalid."""
    return answer(Ask.from_data(data))


def answer(ask: Ask) -> Answer:
    """Return everything that the page shows, as plain data."""
    file, costs, place = ask.file, ask.costs, ask.place
    sweep = file.sweep(costs, place)
    said, against = measured_costs_text.headline(file, costs, place)
    return {
        "models": [(one.name, one.title) for one in file.models],
        "contexts": [one.context for one in costs.places],
        "model": costs.name,
        "context": place.context,
        "where": measured_costs_text.describe_machine(file),
        "answer": said,
        "caution": against,
        "how": measured_costs_text.describe_method(file, costs, place),
        "command": file.command,
        "rows": measured_costs_text.drafter_rows(costs, place, ask.alpha),
        "passes": [_pass(sweep, point.tokens) for point in place.passes],
        "figure": sweep_figure(sweep),
    }


def _pass(sweep: Sweep, tokens: int) -> PassRow:
    """Return the row of a target pass."""
    line, share = sweep.predicted(tokens), sweep.passes(tokens)
    return (
        f"{tokens}",
        format_milliseconds(sweep.by_tokens[tokens]),
        format_passes(share) if share else "",
        format_milliseconds(line.seconds) if line else "",
    )
