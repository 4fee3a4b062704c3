"""`fetch`: brings a model to this machine, from the sources that its row of the catalogue names.

Rule: each step is a sentence on standard error while it happens; the last line says what is here.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from specviz.catalog.fetching import fetch
from specviz.commands.outputs import printable
from specviz.models.files import Watch, size_of, weight_files

STEP: Final = 5  # per cent between two lines of progress


def add_parser(subparsers: Any) -> None:
    """Add `fetch` to the command line."""
    parser = subparsers.add_parser("fetch", help="bring a model to this machine")
    parser.add_argument("model", help="a name that `models` lists, or a Hub id")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Fetch, telling how it goes. A model that cannot be had is a ValueError."""
    place = fetch(args.model, tell, Watch(told=Progress().told))
    print(
        f"{printable(args.model)} is on this machine: {size_of(weight_files(place)) / 1e6:.1f} MB."
    )
    return 0


def tell(sentence: str) -> None:
    """A step, for a person."""
    print(printable(sentence), file=sys.stderr, flush=True)


class Progress:
    """Says how far a fetch has come, every few per cent."""

    def __init__(self) -> None:
        self._next = STEP

    def told(self, done: int, whole: int) -> None:
        """Hear how many bytes are here, of how many."""
        part = 100 * done // whole if whole else 0
        if part >= self._next:
            self._next = part + STEP
            tell(f"{part} %, {done / 1e6:.0f} of {whole / 1e6:.0f} MB")
