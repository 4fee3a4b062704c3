"""The ranking lab: one tree eight ways, the question on real text, and what others report."""

from __future__ import annotations

from typing import Any, Final

from specviz.catalog.entry import title_of
from specviz.trees import ranking_study
from specviz.trees.recorded_position import recipes
from specviz.ui import question
from specviz.ui.component import TabContext, component

NAME: Final = "sv-rank"
SIZES: Final = {"SGLang 6, 10, 60": [6, 10, 59], "SGLang 5, 4, 8": [5, 4, 7]}
KEPT: Final = ("differ", "nodes", "tied", "zeros", "orphans", "length", "gain", "gain_interval")


def answered(text: Any) -> str:
    """See `answer.answer`; torch is brought in by the first question, not by the page."""
    from specviz.ui.trees.ranking.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    known = {
        "examples": examples(),
        "places": [[recipe.name, recipe.title] for recipe in recipes()],
        "size": SIZES["SGLang 6, 10, 60"],
        "study": studied(),
        "reported": reported(),
    }
    view = component(NAME, "trees/ranking/ranking", known)
    question.wire(view, "ranking", f"{NAME}-ask", answered)


def examples() -> list[list[str]]:
    """The made-up trees: name, title, what to look for."""
    from specviz.trees.rounding_examples import EXAMPLES
    from specviz.ui.trees.ranking.question import MADE_UP

    return [[MADE_UP + one.name, one.title, one.says] for one in EXAMPLES]


def studied() -> dict[str, Any] | None:
    """The sweep over real trees, by drafter and size; None where it was not measured."""
    found = ranking_study.load_study()
    if found is None:
        return None
    places = found["prompts"] * found["places"]
    rows = [
        {
            "drafter": title_of(drafter),
            "size": size,
            "said": ranking_study.verdict(ways, places, SIZES[size][2]),
            "noise": ranking_study.noise(ways, ranking_study.Reported()),
            "ways": {way: {key: row[key] for key in KEPT} for way, row in ways.items()},
        }
        for drafter, sizes in found["drafters"].items()
        for size, ways in sizes.items()
    ]
    made = f"{found['made_by']}: {found['prompts']} prompts, {found['places']} places each"
    where = f"{found['processor']}, torch {found['versions']['torch']}"
    return {"rows": rows, "made": made, "where": where, "arithmetic": found["arithmetic"]}


def reported() -> dict[str, Any]:
    """What the pull request says."""
    told = ranking_study.Reported()
    return {
        "url": told.url,
        "where": told.where,
        "quote": told.quote,
        "rows": [
            ["tokens a pass", f"{told.accepted[0]:g}", f"{told.accepted[1]:g}"],
            ["tokens a second", f"{told.speed[0]:g}", f"{told.speed[1]:g}"],
        ],
    }
