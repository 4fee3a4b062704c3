"""`models`: which targets and drafters there are, and which of them are on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from specviz.catalog import listing
from specviz.commands.outputs import STANDARD_OUTPUT, write_json


def add_parser(subparsers: Any) -> None:
    """Add `models` to the command line."""
    parser = subparsers.add_parser("models", help="list targets and drafters")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    rows = listing()
    if args.json:
        write_json(STANDARD_OUTPUT, rows)
    else:
        print("\n".join(map(words, rows)))
        print("Besides these, --target and --drafter take a folder or a Hub id of a causal LM,")
        print("and --drafter one of a head in a layout that the README lists.")
    return 0


def words(row: dict[str, Any]) -> str:
    """One row as two lines."""
    size = f"{row['bytes'] / 1e6:.1f} MB" if row["on_this_machine"] else "not on this machine"
    facts = ", ".join([row["kind"], row["layout"], row["licence"], size])
    return f"{row['name']}: {facts}\n    {row['about']}"
