"""`models`: which targets and drafters there are, and which of them are on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from specviz.catalog import listing
from specviz.catalog.entry import facts, find, missing
from specviz.catalog.public import UNKNOWN, published
from specviz.commands.outputs import STANDARD_OUTPUT, write_json


def add_parser(subparsers: Any) -> None:
    """Add `models` to the command line."""
    parser = subparsers.add_parser("models", help="list targets and drafters")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the catalogue, then what others publish."""
    if args.json:
        write_json(STANDARD_OUTPUT, [*listing(), *published()])
        return 0
    print("\n".join(map(words, listing())))
    print("Besides these, --target and --drafter take a folder, a GGUF file or a Hub id,")
    print("and --drafter one of a head in a layout that the README lists. Such as these, by their")
    print("public descriptions; their layouts were tried on tiny checkpoints, their weights not:")
    print("\n".join(map(brief, published())))
    return 0


def words(row: dict[str, Any]) -> str:
    """One row as two lines, of a target as three."""
    size = f"{row['bytes'] / 1e6:.1f} MB" if row["on_this_machine"] else "not on this machine"
    known = ", ".join([row["kind"], row["layout"], row["licence"], size])
    lines = [f"{row['name']}: {known}", row["about"]]
    entry = find(row["name"], row["kind"])
    if entry is not None and entry.parameters:
        lines.append(facts(entry)[0].upper() + facts(entry)[1:] + ".")
    if entry is not None and not row["on_this_machine"]:
        lines.append(missing(entry))
    return "\n    ".join(lines)


def brief(row: dict[str, Any]) -> str:
    """A public checkpoint as one line."""
    known = [row["kind"], row["family"], row["layout"] or f"layout {UNKNOWN}"]
    known += [f"for {row['made_for']}"] if row["made_for"] else []
    size = UNKNOWN if row["bytes"] is None else f"{row['bytes'] / 1e9:.2f} GB"
    known += [f"size {size}", f"licence {row['licence'] or UNKNOWN}"]
    known += ["gated"] if row["gated"] else []
    known += ["this app cannot run it"] if row["runs"] is False else []
    here = "here" if row["on_this_machine"] else "not on this machine"
    return f"{row['name']}: {', '.join([*known, here])}"
