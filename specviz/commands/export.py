"""`export`: write a trace or a race as an HTML file that replays it.

The modules that write it belong to the page, and are imported only when the command runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specviz.commands.output import STANDARD_OUTPUT, require_writable, say, write_lines
from specviz.commands.parser import Parser
from specviz.settings.settings import count_type
from specviz.texts import count
from specviz.trace.codec import EVENTS
from specviz.trace.file import Trace


def add_options(parser: Parser) -> None:
    """Add the options of `export`."""
    source = "a trace, as `run --trace` writes it, or a race, the folder of `compare --traces`"
    parser.add_argument("file", metavar="FILE", help=source)
    parser.add_argument(
        "--html",
        metavar="FILE",
        required=True,
        help="write a page that replays the run; - prints it",
    )
    number = "open at this round; at its first step if --step is left out"
    parser.add_argument(
        "--round", type=count_type("The round", 0, EVENTS), metavar="N", help=number
    )
    step = "open at this step, as links of the page name it: score, judge-2; or rejected"
    parser.add_argument("--step", metavar="STEP", help=f"{step} for the first rejection")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the file. Raises ValueError if the source cannot be read or has no such step."""
    require_writable(args.html)
    (_export_race if Path(args.file).is_dir() else _export_trace)(args)
    return 0


def _export_trace(args: argparse.Namespace) -> None:
    try:
        trace = Trace.read(args.file)
    except OSError as error:
        raise ValueError(f"{args.file!r} cannot be read: {error.strerror}.") from error
    if not trace.rounds:
        raise ValueError(f"{args.file!r} has no rounds to replay.")
    from specviz.ui.step.replay import replay

    _write(args.html, replay(trace, args.round, args.step), count(len(trace.rounds), "round"))


def _export_race(args: argparse.Namespace) -> None:
    if args.round is not None or args.step is not None:
        raise ValueError("A race is replayed from its start: leave out --round and --step.")
    from specviz.compare.storage import read
    from specviz.ui.compare.race.replay import replay

    folder = Path(args.file).resolve()
    results = read(folder)
    _write(args.html, replay(results, folder.name), count(len(results.traces), "lane"))


def _write(file: str, text: str, size: str) -> None:
    write_lines(file, [text.removesuffix("\n")])
    if file != STANDARD_OUTPUT:
        say(f"{file}: {size}, {len(text.encode()) / 1e6:.1f} MB.", "green")
