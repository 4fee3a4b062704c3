"""`check`: recompute every threshold and decision in a trace, without its models.

The exit status is 0 if all of them agree; a line says what cannot be checked. It is 1 if one
differs, or if the file is damaged, incomplete or not a trace.
"""

from __future__ import annotations

import argparse
import sys

from specviz.commands.output import printable, say
from specviz.commands.parser import Parser
from specviz.trace.check import CheckFailed, check, describe_losslessness, list_assumptions
from specviz.trace.file import Trace, TraceError


def add_options(parser: Parser) -> None:
    """Add the options of `check`."""
    parser.add_argument("file", metavar="FILE", help="a trace, as `run --trace` writes it")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Check one file; return the exit status. Raises ValueError if it cannot be read."""
    try:
        trace = Trace.read(args.file)
        check(trace)
    except (TraceError, CheckFailed) as error:
        return _failed(args.file, str(error))
    except OSError as error:
        raise ValueError(f"{args.file!r} cannot be read: {error.strerror}.") from error
    judged = sum(len(played.judged) for played in trace.rounds)
    say(f"{args.file}: {len(trace.rounds)} rounds and {judged} decisions agree.", "green")
    say(" ".join([describe_losslessness(trace), *list_assumptions(trace)]))
    return 0


def _failed(file: str, reason: str) -> int:
    print(printable(f"specviz: {file}: {reason}"), file=sys.stderr)
    return 1
