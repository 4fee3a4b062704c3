"""The ranking lab: one tree ranked in eight ways, the study on real text, and a published claim."""

from __future__ import annotations

from typing import Any, Final

from specviz.catalog.entry import title_of
from specviz.trees import rounding
from specviz.trees.recorded_position import recipes
from specviz.ui.component import TabContext, component

NAME: Final = "sv-rank"
SIZES: Final = {"SGLang 6, 10, 60": [6, 10, 59], "SGLang 5, 4, 8": [5, 4, 7]}
KEPT: Final = ("differ", "nodes", "tied", "zeros", "orphans", "length", "gain", "gain_interval")


def build(place: TabContext) -> None:
    """Build the section and wire its events."""
    known = {
        "examples": examples(),
        "places": [[recipe.name, recipe.title] for recipe in recipes()],
        "size": SIZES["SGLang 6, 10, 60"],
        "study": studied(),
        "reported": reported(),
    }
    component(NAME, "trees/ranking/ranking", known)
    place.questions.add("ranking", "specviz.ui.trees.ranking.answer")


def examples() -> list[list[str]]:
    """Return the constructed examples: name, title, explanation."""
    from specviz.trees.rounding import EXAMPLES
    from specviz.ui.trees.ranking.question import MADE_UP

    return [[MADE_UP + one.name, one.title, one.explanation] for one in EXAMPLES]


def studied() -> dict[str, Any] | None:
    """Return the study by drafter and size; None if it was not measured."""
    found = rounding.load_study()
    if found is None:
        return None
    places = found["prompts"] * found["places"]
    rows = [
        {
            "drafter": title_of(drafter),
            "size": size,
            "said": rounding.verdict(ways, places, SIZES[size][2]),
            "noise": rounding.noise(ways, rounding.Reported()),
            "ways": {way: {key: row[key] for key in KEPT} for way, row in ways.items()},
        }
        for drafter, sizes in found["drafters"].items()
        for size, ways in sizes.items()
    ]
    made = f"{found['made_by']}: {found['prompts']} prompts, {found['places']} positions each"
    where = f"{found['processor']}, torch {found['versions']['torch']}"
    return {"rows": rows, "made": made, "where": where, "arithmetic": found["arithmetic"]}


def reported() -> dict[str, Any]:
    """Return what the pull request reports."""
    told = rounding.Reported()
    return {
        "url": told.url,
        "where": told.where,
        "quote": told.quote,
        "rows": [
            ["tokens per pass", f"{told.accepted[0]:g}", f"{told.accepted[1]:g}"],
            ["tokens per second", f"{told.speed[0]:g}", f"{told.speed[1]:g}"],
        ],
    }
