"""`fetch`: download a model to this machine, from the sources in the catalogue.

Each step is a sentence on standard error; the last line, on standard output, gives the result.
"""

from __future__ import annotations

import argparse

from specviz.catalog.public import fetch
from specviz.commands.output import say
from specviz.commands.parser import Parser
from specviz.commands.progress import DownloadProgress
from specviz.models.files import FetchMonitor, size_of, weight_files


def add_options(parser: Parser) -> None:
    """Add the options of `fetch`."""
    parser.add_argument("model", help="a name that `specviz models` lists, or a Hub id")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Download a model and show the progress. Raises ValueError if no source has it."""
    with DownloadProgress() as progress:
        place = fetch(args.model, progress.say, FetchMonitor(report=progress.update))
    size = size_of(weight_files(place)) / 1e6
    say(f"{args.model} is on this machine: {size:.1f} MB.", "green")
    return 0
