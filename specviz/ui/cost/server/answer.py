"""What a server's numbers say to one question: words, a table, two figures.

Pure: text in, text out; nothing that was pasted is kept. Counted and simulated stand apart.
"""

from __future__ import annotations

from typing import Any

from specviz.cost import formula
from specviz.cost.figures.server import outlook_figure, places_figure
from specviz.cost.server.report import Report, build_report, format_rate
from specviz.cost.server.stats import SeveralModels, UnreadableStats, shorten
from specviz.ui.cost.server.question import ServerQuestion
from specviz.ui.question import Unasked, number_of, packed


def answer(text: Any) -> str:
    """JSON for the page; what cannot be answered gets the sentence that says why."""
    try:
        asked = ServerQuestion.from_text(text)
    except Unasked as problem:
        return packed({"id": number_of(text), "problem": str(problem), "field": problem.field})
    if not asked.now.strip():
        return packed({"id": asked.number, "empty": True})
    try:
        made = build_report(asked.now, asked.before, asked.named, asked.site.gamma, asked.site)
    except SeveralModels as problem:
        return packed({"id": asked.number, "problem": str(problem), "models": problem.models})
    except UnreadableStats as problem:
        return packed({"id": asked.number, "problem": str(problem), "field": "now"})
    return packed({"id": asked.number} | shown(made, asked))


def shown(made: Report, asked: ServerQuestion) -> dict[str, Any]:
    """Everything that the page shows of an answer."""
    brought = f"{made.tokens.mean:.2f}"
    given = "Between the two snapshots" if asked.before.strip() else "So far"
    return {
        "said": [f"{given} a pass of your server brought ", brought, " tokens."],
        "facts": [list(row) for row in made.facts],
        "places": [
            [f"{place.number}", format_rate(place.reached), format_rate(place.given)]
            for place in made.places
        ],
        "unsaid": list(made.unsaid),
        "advice": list(made.advice),
        "open": made.open,
        "figures": {
            "places": places_figure(made.places) if made.places else None,
            "outlook": made.outlook and outlook_figure(made.outlook),
        },
        "told": {
            "places": ", ".join(f"{p.number}: {format_rate(p.reached)}" for p in made.places),
            "outlook": made.advice[0] if made.advice else made.open,
        },
        "takes": takes(made),
        "batch": made.told.batch,
        "gamma": made.told.length,
    }


def takes(made: Report) -> dict[str, Any] | None:
    """α and γ for the whole tab: the one α that brings as much; None where γ is not known."""
    gamma = made.told.length
    if not gamma or made.told.siblings > 1 or not 1 <= made.tokens.mean <= gamma + 1:
        return None
    alpha = formula.solve_alpha(made.tokens.mean, gamma)
    on = f" on {shorten(made.told.model)}" if made.told.model else ""
    return {"alpha": round(alpha, 3), "gamma": gamma, "said": f"told by {made.told.program}{on}"}
