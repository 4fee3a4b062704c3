"""`export`: write a trace as a file for the page, or as one HTML file that replays it by itself.

The modules that write them belong to the page, and are imported only when the command runs.
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
        "--html", metavar="FILE", help="write a page that replays the run; - prints it"
    )
    parser.add_argument(
        "--run", metavar="FILE", help="write a file that Step opens (Open a saved run); - prints it"
    )
    number = "open at this round; at its first step if --step is left out"
    parser.add_argument(
        "--round", type=count_type("The round", 0, EVENTS), metavar="N", help=number
    )
    step = "open at this step, as links of the page name it: score, judge-2; or rejected"
    parser.add_argument("--step", metavar="STEP", help=f"{step} for the first rejection")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the files. Raises ValueError if the trace cannot be read or has no such step."""
    if args.html is None and args.run is None:
        raise ValueError("Name a file to write: --html FILE or --run FILE.")
    if args.run is not None and (args.round is not None or args.step is not None):
        raise ValueError("--round and --step say where a page opens: leave them out with --run.")
    for file in filter(None, (args.html, args.run)):
        require_writable(file)
    try:
        trace = Trace.read(args.file)
    except OSError as error:
        raise ValueError(f"{args.file!r} cannot be read: {error.strerror}.") from error
    if not trace.rounds:
        raise ValueError(f"{args.file!r} has no rounds to replay.")
    from specviz.ui.step.lines import lines
    from specviz.ui.step.replay import replay
    from specviz.ui.step.run_file import run_file

    if args.html is not None:
        _write(args.html, replay(trace, args.round, args.step), trace)
    if args.run is not None:
        _write(args.run, run_file(lines([trace.header, *trace.events], "recorded", "run")), trace)
    return 0


def _write(file: str, text: str, trace: Trace) -> None:
    """Write a file and say so."""
    write_lines(file, [text.removesuffix("\n")])
    if file != STANDARD_OUTPUT:
        size = f"{len(text.encode()) / 1e6:.1f} MB"
        say(f"{file}: {count(len(trace.rounds), 'round')}, {size}.", "green")
