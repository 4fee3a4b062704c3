"""Costs of public shapes on machines: the files that ship, or one that a visitor brings.

Rule: seconds are measured and say where; what follows from α is simulated and says so. A visitor's
file is read as strictly as any, is answered, and is not kept. No model runs here, so nobody waits
in line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

from specviz.cost import measured_costs_text
from specviz.cost.figures.sweep import sweep_figure
from specviz.cost.formatting import format_milliseconds, format_passes
from specviz.cost.measured_costs import (
    MAX_CHARACTERS,
    ContextCosts,
    CostFile,
    ModelCosts,
    load_shipped,
    shipped_paths,
)
from specviz.cost.sweep import Sweep
from specviz.settings.settings import require
from specviz.settings.value_types import parse_number
from specviz.ui import question
from specviz.ui.broken import lacking, spared
from specviz.ui.component import TabContext, component
from specviz.ui.cost.terms.section import START as TERMS

NAME: Final = "sv-shapes"
LONGEST: Final = (
    8 * MAX_CHARACTERS
)  # characters of a question: a file in it, escaped; it has its own limit


@dataclass(frozen=True, slots=True)
class Ask:
    """One setting of the controls. model, context: of the file; others stand for the first."""

    file: CostFile
    model: str
    context: int
    alpha: float

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The page's question. Raises ValueError with a sentence."""
        name, text, alpha = data.get("file"), data.get("text"), parse_number("α", data.get("alpha"))
        require(0 <= alpha <= 1, f"α must be a chance from 0 to 1, and {alpha:g} is not.")
        if isinstance(text, str):
            file = CostFile.from_text(text)
        else:
            require(isinstance(name, str) and name in files(), "No such file ships.")
            file = files()[str(name)]
        model, context = data.get("model"), data.get("context")
        return cls(file, str(model), context if isinstance(context, int) else 0, alpha)

    @property
    def costs(self) -> ModelCosts:
        """The model that was asked for, or the first."""
        models = self.file.models
        return next((one for one in models if one.name == self.model), models[0])

    @property
    def place(self) -> ContextCosts:
        """The context that was asked for, or the first."""
        places = self.costs.places
        return next((one for one in places if one.context == self.context), places[0])


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    for path in shipped_paths():
        lacking("One of the machines measured below is left out.", partial(load_shipped, path))
    view = component(NAME, "cost/shapes/shapes", config())
    question.wire(view, "shapes", f"{NAME}-ask", section_facts)


def config() -> dict[str, Any]:
    """What the page knows before it asks."""
    return {
        "terms": dict(TERMS),
        "files": [
            [name, measured_costs_text.describe_machine(file)] for name, file in files().items()
        ],
        "first": next(
            (answer(Ask(file, "", 0, TERMS["alpha"])) for file in files().values()), None
        ),
        "largest": MAX_CHARACTERS,
    }


def files() -> Mapping[str, CostFile]:
    """The files that ship by name, but for those that are broken."""
    found = {path.stem: spared(partial(load_shipped, path), None) for path in shipped_paths()}
    return {name: file for name, file in found.items() if file}


def section_facts(text: Any) -> str:
    """The answer to the page's question as JSON text: `id` as it was asked, or an `error`."""
    try:
        made = answer(Ask.from_data(question.read(text, LONGEST)))
    except ValueError as problem:
        made = {"error": str(problem)}
    return question.packed(made | {"id": question.number_of(text)})


def answer(ask: Ask) -> dict[str, Any]:
    """Everything that the page shows of a question, as plain data."""
    file, costs, place = ask.file, ask.costs, ask.place
    sweep = file.sweep(costs, place)
    said, against = measured_costs_text.headline(file, costs, place)
    return {
        "models": [[one.name, one.title] for one in file.models],
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


def _pass(sweep: Sweep, tokens: int) -> list[str]:
    """A bare pass: its tokens, milliseconds, plain passes, and the roofline's milliseconds."""
    line, share = sweep.predicted(tokens), sweep.passes(tokens)
    return [
        f"{tokens}",
        format_milliseconds(sweep.by_tokens[tokens]),
        format_passes(share) if share else "",
        format_milliseconds(line.seconds) if line else "",
    ]
