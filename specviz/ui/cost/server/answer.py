"""Answer one question about a server's statistics: sentences, a table and two figures.

Pure; nothing that was pasted is kept. Counted and simulated values are kept
apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.cost import formula
from specviz.cost.figures.measured import outlook_figure, positions_figure
from specviz.cost.server.report import Report, build_report, format_rate
from specviz.cost.server.stats import SeveralModels, UnreadableStats, shorten
from specviz.texts import number, say
from specviz.ui.cost.server.question import ServerQuestion
from specviz.ui.questions import BadRequest


def answer(data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a question. Raises BadRequest with a sentence, also for unusable statistics."""
    asked = ServerQuestion.from_data(data)
    if not asked.now.strip():
        return {"empty": True}
    try:
        made = build_report(asked.now, asked.before, asked.named, asked.site.gamma, asked.site)
    except SeveralModels as problem:
        raise BadRequest(str(problem), models=problem.models) from problem
    except UnreadableStats as problem:
        raise BadRequest(str(problem), "now") from problem
    return shown(made, asked)


def shown(made: Report, asked: ServerQuestion) -> dict[str, Any]:
    """Return everything that the page shows."""
    since = bool(asked.before.strip())
    tokens = number(f"{made.tokens.mean:.2f}", "p")
    sentence = say("server", "answer_between" if since else "answer_since_start", tokens=tokens)
    return {
        "said": [part if isinstance(part, str) else part["n"] for part in sentence],
        "facts": [list(row) for row in made.facts],
        "places": [
            [f"{place.number}", format_rate(place.cumulative), format_rate(place.conditional)]
            for place in made.positions
        ],
        "unsaid": list(made.limitations),
        "advice": list(made.advice),
        "open": made.not_predicted,
        "figures": {
            "places": positions_figure(made.positions) if made.positions else None,
            "outlook": made.outlook and outlook_figure(made.outlook),
        },
        "told": {
            "places": ", ".join(f"{p.number}: {format_rate(p.cumulative)}" for p in made.positions),
            "outlook": made.advice[0] if made.advice else made.not_predicted,
        },
        "takes": takes(made),
        "batch": made.stats.batch,
        "gamma": made.stats.draft_length,
    }


def takes(made: Report) -> dict[str, Any] | None:
    """Return α and γ for the whole tab: the α that gives the same mean; None if γ is unknown."""
    gamma = made.stats.draft_length
    if not gamma or made.stats.siblings > 1 or not 1 <= made.tokens.mean <= gamma + 1:
        return None
    alpha = formula.solve_alpha(made.tokens.mean, gamma)
    on = f" on {shorten(made.stats.model)}" if made.stats.model else ""
    return {
        "alpha": round(alpha, 3),
        "gamma": gamma,
        "said": f"reported by {made.stats.program}{on}",
    }
