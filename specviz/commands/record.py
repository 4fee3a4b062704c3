"""`record`: make again the runs and races that ship with the app, from their recipes.

Rule: what is recorded is real; this command is the only way it is made. Recipes of a target that is
not on this machine, or of a server that does not answer, are left out, with a sentence.

A recorded race is a real one, checked lane by lane before it is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from specviz.catalog.entry import filled, find, missing, place_of
from specviz.compare import recipes as races
from specviz.compare.recipes import RaceRecipe
from specviz.settings.settings import Settings
from specviz.shipped import FOLDER, Recipe, recipes


def add_parser(subparsers: Any) -> None:
    """Add `record` to the command line."""
    parser = subparsers.add_parser("record", help="make again what ships: recorded runs and races")
    parser.add_argument("--out", type=Path, help="the folder to write to; else where they ship")
    only = "those with this in the name; a race is called races/NAME"
    parser.add_argument("--only", metavar="WORD", default="", help=only)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Record them, checking each before it is written. Raises ValueError where none is meant."""
    chosen = [recipe for recipe in recipes() if args.only in recipe.name]
    raced = [recipe for recipe in races.recipes() if args.only in f"races/{recipe.name}"]
    if not chosen and not raced:
        raise ValueError(f"No recipe has {args.only!r} in its name.")
    for recipe in chosen:
        print(_lack(recipe) or _record(recipe, args.out or FOLDER), flush=True)
    for race in raced:
        print(_lack(race) or record(race, args.out or races.FOLDER), flush=True)
    return 0


def _lack(recipe: Recipe | RaceRecipe) -> str | None:
    """Why a recipe cannot be followed on this machine; None where it can."""
    target = find(recipe.target, "target")
    if target is None or place_of(target) is not None:
        return None
    return f"{recipe.name}: left as it is. {missing(target)}"


def _record(recipe: Recipe, folder: Path) -> str:
    """Make and write a run; returns what to tell of it."""
    from specviz.catalog.loading import load
    from specviz.engine.decode import run as decode
    from specviz.models.errors import ServerFault
    from specviz.trace.check import check
    from specviz.trace.events import Header
    from specviz.trace.file import Trace
    from specviz.trace.metrics import summary

    try:
        pair = load(recipe.target, recipe.drafter)
    except ServerFault as fault:
        return f"{recipe.name}: left as it is. {fault}"
    settings = Settings.from_json(filled(recipe.drafter, recipe.settings))
    for _ in range(2):  # the first warms up, so that times are those of a running process
        header, *events = decode(*pair, recipe.text, settings)
    assert isinstance(header, Header)
    trace = Trace(header, events)
    check(trace)
    trace.write(folder / f"{recipe.name}.jsonl")
    numbers = summary(trace)
    return (
        f"{recipe.name}: {numbers['tokens']} tokens, {numbers['tokens_per_pass']:.2f} a pass, "
        f"x{numbers['speedup']:.2f} plain"
    )


def record(recipe: RaceRecipe, folder: Path) -> str:
    """Race and write; returns what to tell of it. Raises CheckFailed, and what loading raises."""
    from specviz.catalog.loading import load_drafter, load_target
    from specviz.compare.results import Results
    from specviz.compare.run import run
    from specviz.compare.saved import write
    from specviz.compare.summary import race_summary
    from specviz.trace.check import check

    race = recipe.race
    target = load_target(race.target)
    drafters = {lane.name: load_drafter(lane.drafter, target) for lane in race.lanes}
    results = Results(race)
    for event in run(target, drafters, race):
        results.take(event)
    for name in results.traces:
        check(results.measured(name))
    write(folder / recipe.name, results)
    whole = race_summary(results)
    return " ".join(filter(None, [f"{recipe.name}:", whole["headline"], whole["caution"]]))
