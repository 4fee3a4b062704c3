"""Answer one question about a server's statistics: sentences, a table and two figures.

Functions have no side effects, and the pasted text is not stored. Counted and simulated values are
in separate fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired, Self, TypedDict

from specviz.cost import formula
from specviz.cost.figures.measured import outlook_figure, positions_figure
from specviz.cost.formatting import format_speedup
from specviz.cost.server.loading import MAX_CHARACTERS
from specviz.cost.server.outlook import LIMITS, Deployment
from specviz.cost.server.report import Report, Row, build_report, format_rate
from specviz.cost.server.stats import (
    SeveralModels,
    UnreadableStats,
    acceptance_by_length,
    shorten,
)
from specviz.frames.scene import Figure
from specviz.texts import number, say, text
from specviz.ui.questions import BadRequest, Refusal

# Two texts as JSON, in which one character may take six.
LONGEST_QUESTION: Final = 4 * MAX_CHARACTERS
NAMES: Final = ("hardware", "model", "dtype", "drafter")
SHOWN_STEPS: Final = 300  # maximum number of steps sent for a request that reports each step
LONGEST_NAME: Final = 1_000  # maximum characters of a server's own name for its model
FigureName = Literal["places", "outlook"]


class Takes(TypedDict):
    """α and γ for the whole tab, and where they were measured."""

    alpha: float
    gamma: int
    said: str


class Answer(TypedDict):
    """Everything that the page shows.

    Attributes:
        said: The headline, a sentence with a coloured number in its middle.
        brief: One sentence, shown while the section is closed.
        places: Acceptance by position.
        advice: Sentences of advice, which are simulated.
        open: Why nothing can be predicted; empty if there is a prediction.
        batch: Batch size that the server reports.
        gamma: γ that the server reports.
        steps: Accepted and drafted tokens of the first steps, if they are reported one by one.
        stepped: Number of steps.
        lengths: For each draft length, the number of steps and their mean accepted tokens.
    """

    said: list[str]
    brief: str
    facts: Sequence[Row]
    places: list[tuple[str, str, str]]
    unsaid: Sequence[str]
    advice: Sequence[str]
    open: str
    figures: dict[FigureName, Figure | None]
    descriptions: dict[FigureName, str]
    takes: Takes | None
    batch: int | None
    gamma: int | None
    steps: Sequence[tuple[int, int]]
    stepped: int
    lengths: list[tuple[str, str, str]]


class Empty(TypedDict):
    """The answer if nothing was pasted."""

    empty: Literal[True]


class SeveralModelsRefusal(Refusal):
    """A refusal, possibly because the text has several models.

    Attributes:
        models: Names of the models in the text, if it has several.
    """

    models: NotRequired[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """The visitor's pasted text and choices.

    Attributes:
        now: The statistics.
        before: An earlier snapshot; may be empty.
        named: Name of the model, if the server has several.
        site: Where the server runs.
    """

    now: str
    before: str
    named: str | None
    site: Deployment

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest if it is invalid."""
        named = _text(data, "named", LONGEST_NAME)
        return cls(
            _text(data, "now", MAX_CHARACTERS),
            _text(data, "before", MAX_CHARACTERS),
            named or None,
            _site(data),
        )


def _site(data: Mapping[str, Any]) -> Deployment:
    names = {name: _text(data, name, 100) for name in NAMES}
    numbers = {name: _whole(data, name) for name in LIMITS}
    for name in ("cards", "context"):
        if numbers[name] is None:
            raise BadRequest(f"{LIMITS[name][0]} must be an integer.", name)
    try:
        return Deployment(**names, **numbers)  # type: ignore[arg-type]
    except ValueError as problem:
        raise BadRequest(str(problem)) from problem


def _text(data: Mapping[str, Any], name: str, longest: int) -> str:
    found = data.get(name, "")
    if not isinstance(found, str):
        raise BadRequest(f"“{name}” must be text.", name)
    if len(found) > longest:
        raise BadRequest(f"This text is longer than {longest:,} characters.", name)
    return found


def _whole(data: Mapping[str, Any], name: str) -> int | None:
    """Parse an integer; None if the box is empty."""
    value = data.get(name)
    if value is None or value == "":
        return None
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or abs(value) > 1e9 or value != int(value):
        raise BadRequest(f"{LIMITS[name][0]} must be an integer.", name)
    return int(value)


def answer(data: Mapping[str, Any]) -> Answer | Empty:
    """Answer a question. Raises BadRequest if it or its statistics are invalid."""
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


def shown(made: Report, asked: ServerQuestion) -> Answer:
    """Return everything that the page shows."""
    since = bool(asked.before.strip())
    tokens = number(f"{made.tokens.mean:.2f}", "p")  # the only part that is not text
    sentence = say("server", "answer_between" if since else "answer_since_start", tokens=tokens)
    return {
        "said": [part if isinstance(part, str) else tokens["n"] for part in sentence],
        "brief": brief(made),
        "facts": made.facts,
        "places": [
            (f"{place.number}", format_rate(place.cumulative), format_rate(place.conditional))
            for place in made.positions
        ],
        "unsaid": made.limitations,
        "advice": made.advice,
        "open": made.not_predicted,
        "figures": {
            "places": positions_figure(made.positions) if made.positions else None,
            "outlook": outlook_figure(made.outlook) if made.outlook else None,
        },
        "descriptions": {
            "places": ", ".join(f"{p.number}: {format_rate(p.cumulative)}" for p in made.positions),
            "outlook": made.advice[0] if made.advice else made.not_predicted,
        },
        "takes": takes(made),
        "batch": made.stats.batch,
        "gamma": made.stats.draft_length,
        "steps": made.stats.steps[:SHOWN_STEPS],
        "stepped": len(made.stats.steps),
        "lengths": [
            (f"{row.drafted}", f"{row.steps:,}", f"{row.accepted:.2f}")
            for row in acceptance_by_length(made.stats)
        ],
    }


def brief(made: Report, example: bool = False) -> str:
    """Return one sentence: the tokens per pass and, if there is a prediction, the best γ."""
    return text(
        "server",
        "brief",
        example=example,
        program=made.stats.program,
        tokens=f"{made.tokens.mean:.2f}",
        gamma=made.outlook.best.gamma if made.outlook else 0,
        speedup=format_speedup(made.outlook.best.speedup) if made.outlook else "",
    )


def takes(made: Report) -> Takes | None:
    """Return α and γ for the whole tab.

    This α gives the same mean tokens per pass. None if γ is unknown.
    """
    gamma = made.stats.draft_length
    if not gamma or (made.stats.siblings or 1) > 1 or not 1 <= made.tokens.mean <= gamma + 1:
        return None
    alpha = formula.solve_alpha(made.tokens.mean, gamma)
    on = f" on {shorten(made.stats.model)}" if made.stats.model else ""
    return {
        "alpha": round(alpha, 3),
        "gamma": gamma,
        "said": f"reported by {made.stats.program}{on}",
    }
