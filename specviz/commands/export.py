"""`export`: write a trace as one HTML file that replays the run, without a server or a network.

The module that writes the file belongs to the page, and is imported only when the command runs.
"""

from __future__ import annotations

import argparse

from specviz.commands.output import STANDARD_OUTPUT, require_writable, say, write_lines
from specviz.commands.parser import Parser
from specviz.settings.settings import count_type
from specviz.texts import count
from specviz.trace.codec import EVENTS
from specviz.trace.file import Trace


def add_options(parser: Parser) -> None:
    """Add the options of `export`."""
    parser.add_argument("file", metavar="FILE", help="a trace, as `run --trace` writes it")
    parser.add_argument(
        "--html", metavar="FILE", required=True, help="the file to write; - prints it"
    )
    number = "open at this round; at its first step if --step is left out"
    parser.add_argument(
        "--round", type=count_type("The round", 0, EVENTS), metavar="N", help=number
    )
    step = "open at this step, as links of the page name it: score, judge-2; or rejected"
    parser.add_argument("--step", metavar="STEP", help=f"{step} for the first rejection")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the file. Raises ValueError if the trace cannot be read or has no such step."""
    require_writable(args.html)
    try:
        trace = Trace.read(args.file)
    except OSError as error:
        raise ValueError(f"{args.file!r} cannot be read: {error.strerror}.") from error
    if not trace.rounds:
        raise ValueError(f"{args.file!r} has no rounds to replay.")
    from specviz.ui.step.replay import replay

    text = replay(trace, args.round, args.step)
    write_lines(args.html, [text])
    if args.html != STANDARD_OUTPUT:
        size = f"{len(text.encode()) / 1e6:.1f} MB"
        say(f"{args.html}: {count(len(trace.rounds), 'round')}, {size}.", "green")
    return 0
