"""`models`: list targets and drafters, and say which of them are on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from specviz.catalog import listing
from specviz.catalog.entry import find, missing_message
from specviz.catalog.public import UNKNOWN, public_rows
from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_table,
    require_writable,
    say,
    write_json,
)
from specviz.commands.parser import Parser

NOT_HERE: Final = "not here"
TARGETS: Final = (
    Column("Name"),
    Column("On disk", right=True),
    Column("Parameters", right=True),
    Column("Context", right=True),
    Column("Memory", right=True),
    Column("Licence"),
    Column("About", wrap=True),
)
DRAFTERS: Final = (
    Column("Name"),
    Column("On disk", right=True),
    Column("For target"),
    Column("Layout"),
    Column("Licence"),
    Column("About", wrap=True),
)
PUBLISHED: Final = (
    Column("Name"),
    Column("Kind"),
    Column("Family"),
    Column("For target"),
    Column("Layout", wrap=True),
    Column("Size", right=True),
    Column("Licence"),
    Column("Notes", wrap=True),
)
MEMORY: Final = (
    "Memory is that of float32 weights. On a CPU, packing weights for speed can take as much again."
)
OTHERS: Final = (
    "--target and --drafter also take a folder, a GGUF file or a Hub id; --drafter also a head in "
    "a layout that docs/checkpoints.md lists. The checkpoints below are described as by their "
    "authors. Their layouts were tested with tiny checkpoints; their weights were not tested."
)


def add_options(parser: Parser) -> None:
    """Add the options of `models`."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const=STANDARD_OUTPUT,
        help="write a JSON list (- or no FILE prints it)",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the catalogue, then the checkpoints that others publish."""
    require_writable(args.json)
    rows = listing()
    if args.json is not None:
        write_json(args.json, [*rows, *public_rows()])
        return 0
    _print("Targets", TARGETS, [target_cells(row) for row in rows if row["kind"] == "target"])
    say(MEMORY, "dim")
    _print("Drafters", DRAFTERS, [drafter_cells(row) for row in rows if row["kind"] == "drafter"])
    for sentence in filter(None, map(_how_to_get, rows)):
        say(sentence, "yellow")
    say()
    say(OTHERS)
    _print("Published by others", PUBLISHED, [published_cells(row) for row in public_rows()])
    return 0


def _print(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    if title != "Targets":
        say()
    say(title, "bold")
    print_table(columns, rows)


def target_cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the table for a target of the catalogue."""
    known = bool(row["parameters"])
    return [
        row["name"],
        _on_disk(row),
        f"{row['parameters'] / 1e6:.1f} M" if known else "",
        f"{row['context']:,}" if row["context"] else "",
        f"{row['memory_bytes'] / 1e9:.2f} GB" if known else "",
        row["licence"],
        row["about"],
    ]


def drafter_cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the table for a drafter of the catalogue."""
    made_for = row["made_for"] or "any"
    return [row["name"], _on_disk(row), made_for, row["layout"], row["licence"], row["about"]]


def published_cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the table for a published checkpoint."""
    notes = ["gated"] if row["gated"] else []
    notes += ["this app cannot run it"] if row["runs"] is False else []
    notes += ["on this machine"] if row["on_this_machine"] else []
    return [
        row["name"],
        row["kind"],
        row["family"],
        row["made_for"] or "",
        row["layout"] or UNKNOWN,
        UNKNOWN if row["bytes"] is None else f"{row['bytes'] / 1e9:.2f} GB",
        row["licence"] or UNKNOWN,
        ", ".join(notes),
    ]


def _on_disk(row: dict[str, Any]) -> str:
    if not row["on_this_machine"]:
        return NOT_HERE
    return f"{row['bytes'] / 1e6:.1f} MB" if row["bytes"] else ""


def _how_to_get(row: dict[str, Any]) -> str:
    entry = find(row["name"], row["kind"])
    return "" if entry is None or row["on_this_machine"] else missing_message(entry)
