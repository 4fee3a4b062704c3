"""`sweep`: how the time of a target pass on this machine depends on its number of tokens."""

from __future__ import annotations

import argparse
from typing import Final

from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_table,
    require_writable,
    say,
    write_lines,
)
from specviz.commands.parser import INTERRUPTED, Parser, add_target, interruptible
from specviz.commands.progress import show_loading
from specviz.cost.sweep import Sweep
from specviz.settings.settings import seed_type

COLUMNS: Final = (
    Column("Tokens", right=True),
    Column("Pass, ms", right=True),
    Column("Middle half, ms", right=True),
    Column("Plain passes", right=True),
    Column("Roofline, ms (simulated)", right=True),
)
SENTENCES: Final = ("answer", "must", "memory", "gap", "grows", "caution", "how")


def add_options(parser: Parser) -> None:
    """Add the options of `sweep`."""
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON (- prints it)")
    order = seed_type("The seed of the order")
    shuffles = "seed of the order of the measurements (default: 1)"
    parser.add_argument("--order-seed", type=order, default=1, metavar="N", help=shuffles)
    add_target(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print or write the result, and return the exit status."""
    require_writable(args.json)
    with show_loading():
        from specviz.bench.sweep import SweepPlan, SweepRun
        from specviz.catalog.loading import load_target

        target = load_target(args.target, args.device, args.dtype)
    sweeping = SweepRun(target, SweepPlan(seed=args.order_seed))
    with interruptible() as stop:
        for _ in sweeping.steps(stop):
            pass
    made = sweeping.sweep()
    if args.json != STANDARD_OUTPUT:
        _print(made)
    if args.json is not None:
        write_lines(args.json, [made.to_text().rstrip("\n")])
    return INTERRUPTED if stop() else 0


def _print(sweep: Sweep) -> None:
    from specviz.cost.sweep_text import pass_rows, sweep_sentences

    said = sweep_sentences(sweep)
    say(said["where"], "bold")
    print_table(COLUMNS, [[str(row.tokens), *row[1:]] for row in pass_rows(sweep)])
    for name in SENTENCES:
        if said[name]:
            say(said[name], "yellow" if name == "caution" else "")
