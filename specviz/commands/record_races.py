"""Records the races that ship with the app, from `assets/races/recipes.json`.

Rule: a recorded race is a real one, checked lane by lane before it is written.
"""

from __future__ import annotations

from pathlib import Path

from specviz.compare.recipes import RaceRecipe


def record(recipe: RaceRecipe, folder: Path) -> str:
    """Race and write; returns what to tell of it. Raises CheckFailed, and what loading raises."""
    from specviz.catalog.loading import load_drafter, load_target
    from specviz.check import check
    from specviz.compare.race import run
    from specviz.compare.results import Results
    from specviz.compare.saved import write
    from specviz.compare.told import told

    race = recipe.race
    target = load_target(race.target)
    drafters = {lane.name: load_drafter(lane.drafter, target) for lane in race.lanes}
    results = Results(race)
    for event in run(target, drafters, race):
        results.take(event)
    for name in results.traces:
        check(results.measured(name))
    write(folder / recipe.name, results)
    whole = told(results)
    return " ".join(filter(None, [f"{recipe.name}:", whole["headline"], whole["caution"]]))
