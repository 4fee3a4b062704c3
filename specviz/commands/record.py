"""`record`: record the shipped runs and races again, from their recipes.

Every recording is a real run made by this command, and is checked before it is written. A recipe
whose target is not on this machine, or whose server does not answer, is skipped, which is printed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from specviz.catalog.entry import find, missing_message, weights_path, with_defaults
from specviz.commands.output import say
from specviz.commands.parser import Parser
from specviz.compare import storage as races
from specviz.compare.storage import RaceRecipe
from specviz.settings.settings import Settings
from specviz.shipped import FOLDER, Recipe, recipes


def add_options(parser: Parser) -> None:
    """Add the options of `record`."""
    parser.add_argument("--out", type=Path, help="folder to write to (default: that of the app)")
    only = "only recipes whose name contains this; a race is named races/NAME"
    parser.add_argument("--only", metavar="WORD", default="", help=only)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Record the chosen recipes. Raises ValueError if no recipe is chosen."""
    chosen = [recipe for recipe in recipes() if args.only in recipe.name]
    raced = [recipe for recipe in races.recipes() if args.only in f"races/{recipe.name}"]
    if not chosen and not raced:
        raise ValueError(f"No recipe has {args.only!r} in its name.")
    for recipe in chosen:
        say(_reason_to_skip(recipe) or record_run(recipe, args.out or FOLDER))
    for race in raced:
        say(_reason_to_skip(race) or record_race(race, args.out or races.FOLDER))
    return 0


def _reason_to_skip(recipe: Recipe | RaceRecipe) -> str | None:
    target = find(recipe.target, "target")
    if target is None or weights_path(target) is not None:
        return None
    return f"{recipe.name}: not recorded. {missing_message(target)}"


def record_run(recipe: Recipe, folder: Path) -> str:
    """Record, check and write a run; return its summary."""
    from specviz.catalog.loading import load
    from specviz.engine.decode import run as decode
    from specviz.models.devices import describe_machine
    from specviz.models.errors import ServerFault
    from specviz.trace.check import check
    from specviz.trace.events import Header
    from specviz.trace.file import Trace
    from specviz.trace.metrics import summary

    try:
        pair = load(recipe.target, recipe.drafter)
    except ServerFault as fault:
        return f"{recipe.name}: not recorded. {fault}"
    settings = Settings.from_json(with_defaults(recipe.drafter, recipe.settings))
    for _ in range(2):  # the first run is a warm-up
        header, *events = decode(*pair, recipe.text, settings)
    assert isinstance(header, Header)
    trace = Trace(replace(header, machine=describe_machine(pair[0].device)), events)
    check(trace)
    trace.write(folder / f"{recipe.name}.jsonl")
    numbers = summary(trace)
    return (
        f"{recipe.name}: {numbers['tokens']} tokens, {numbers['tokens_per_pass']:.2f} per pass, "
        f"{numbers['speedup']:.2f} × plain decoding"
    )


def record_race(recipe: RaceRecipe, folder: Path) -> str:
    """Record, check and write a race; return its summary.

    Raises CheckFailed if a trace is wrong.
    """
    from specviz.catalog.loading import load_drafter, load_target
    from specviz.compare.race import Results
    from specviz.compare.run import run
    from specviz.compare.storage import write
    from specviz.compare.summary import race_summary
    from specviz.models.devices import describe_machine
    from specviz.trace.check import check

    race = recipe.race
    target = load_target(race.target)
    drafters = {lane.name: load_drafter(lane.drafter, target) for lane in race.lanes}
    results = Results(race)
    for event in run(target, drafters, race):
        results.add(event)
    for name, trace in results.traces.items():
        trace.header = replace(trace.header, machine=describe_machine(target.device))
        check(results.with_baseline(name))
    write(folder / recipe.name, results)
    whole = race_summary(results)
    return " ".join(filter(None, [f"{recipe.name}:", whole["headline"], whole["caution"]]))
