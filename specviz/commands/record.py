"""`record`: make again the runs and races that ship with the app, from their recipes.

Rule: what is recorded is real, of the house models; this command is the only way it is made.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from specviz.catalog.known import filled
from specviz.commands.record_races import record
from specviz.compare import recipes as races
from specviz.recipes import FOLDER, Recipe, recipes
from specviz.settings import Settings


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
        print(_record(recipe, args.out or FOLDER), flush=True)
    for race in raced:
        print(record(race, args.out or races.FOLDER), flush=True)
    return 0


def _record(recipe: Recipe, folder: Path) -> str:
    """Make and write a run; returns what to tell of it."""
    from specviz.catalog.loading import load
    from specviz.check import check
    from specviz.engine import run as decode
    from specviz.metrics import summary
    from specviz.trace import Header, Trace

    pair = load("house", recipe.drafter)
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
