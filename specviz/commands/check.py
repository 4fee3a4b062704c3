"""`check`: recompute every threshold and verdict of a trace, without its models.

Rule: status 0 if all agree, with a line on what no file can prove; 1 if one differs, or if the file
is damaged, cut short or no trace.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from specviz.trace.check import CheckFailed, check, claim, unproven
from specviz.trace.file import Trace, TraceError


def add_parser(subparsers: Any) -> None:
    """Add `check` to the command line."""
    parser = subparsers.add_parser("check", help="recompute every verdict of a trace")
    parser.add_argument("file", metavar="FILE", help="a trace, as `run --trace` writes it")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Check one file. Raises ValueError where there is none."""
    try:
        trace = Trace.read(args.file)
        check(trace)
    except (TraceError, CheckFailed) as error:
        return _failed(args.file, str(error))
    except OSError as error:
        raise ValueError(f"{args.file!r} cannot be read: {error.strerror}.") from error
    judged = sum(len(played.judged) for played in trace.rounds)
    print(f"{args.file}: {len(trace.rounds)} rounds and {judged} decisions agree.")
    print(" ".join([claim(trace), *unproven(trace)]))
    return 0


def _failed(file: str, reason: str) -> int:
    print(f"specviz: {file}: {reason}", file=sys.stderr)
    return 1
