"""`sweep`: how long a pass of the target takes here, by the tokens in it."""

from __future__ import annotations

import argparse
from typing import Any

from specviz.commands.outputs import STANDARD_OUTPUT, printable, require_writable, write_lines
from specviz.commands.run import STOPPED, add_target, interruptible
from specviz.settings.options import seed


def add_parser(subparsers: Any) -> None:
    """Add `sweep` to the command line."""
    parser = subparsers.add_parser("sweep", help="time a pass over 1 to 64 tokens")
    parser.add_argument("--json", metavar="FILE", help="write the sweep; - prints it")
    order = seed("The seed of the order")
    parser.add_argument("--order-seed", type=order, default=1, help="shuffles the order (1)")
    add_target(parser)
    parser.set_defaults(func=sweep)


def sweep(args: argparse.Namespace) -> int:
    """Measure, then print or write. Returns the exit status."""
    require_writable(args.json)
    from specviz.bench.sweep import Plan, Sweeping
    from specviz.catalog.loading import load_target
    from specviz.cost.sweep_text import table

    sweeping = Sweeping(
        load_target(args.target, args.device, args.dtype), Plan(seed=args.order_seed)
    )
    with interruptible() as stop:
        for _ in sweeping.steps(stop):
            pass
    made = sweeping.sweep()
    if args.json != STANDARD_OUTPUT:
        for line in table(made):
            print(printable(line))
    if args.json is not None:
        write_lines(args.json, [made.to_text().rstrip("\n")])
    return STOPPED if stop() else 0
