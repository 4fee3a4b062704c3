"""`record`: make again the runs that ship with the app, from `assets/traces/recipes.json`.

Rule: a recorded run is a real run of the house models; this command is the only way they are made.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from specviz.catalog.known import filled
from specviz.recipes import FOLDER, recipes
from specviz.settings import Settings


def add_parser(subparsers: Any) -> None:
    """Add `record` to the command line."""
    parser = subparsers.add_parser("record", help="make again the runs that ship with the app")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write to")
    parser.add_argument("--only", metavar="WORD", default="", help="those with this in the name")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Record them, checking each before it is written. Raises ValueError where none is meant."""
    from specviz.catalog.loading import load
    from specviz.check import check
    from specviz.engine import run as decode
    from specviz.metrics import summary
    from specviz.trace import Header, Trace

    chosen = [recipe for recipe in recipes() if args.only in recipe.name]
    if not chosen:
        raise ValueError(f"No recipe has {args.only!r} in its name.")
    for recipe in chosen:
        pair = load("house", recipe.drafter)
        settings = Settings.from_json(filled(recipe.drafter, recipe.settings))
        for _ in range(2):  # the first warms up, so that times are those of a running process
            header, *events = decode(*pair, recipe.text, settings)
        assert isinstance(header, Header)
        trace = Trace(header, events)
        check(trace)
        trace.write(args.out / f"{recipe.name}.jsonl")
        numbers = summary(trace)
        print(
            f"{recipe.name}: {numbers['tokens']} tokens, {numbers['tokens_per_pass']:.2f} a pass, "
            f"x{numbers['speedup']:.2f} plain"
        )
    return 0
