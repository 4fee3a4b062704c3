"""`server`: the acceptance statistics of an inference server, and the best γ for it.

Counted and simulated numbers are printed separately. If the statistics cannot be read or fetched,
the command prints one sentence and exits with status 2.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

from specviz.commands.output import (
    STANDARD_OUTPUT,
    Column,
    print_pairs,
    print_table,
    require_writable,
    say,
    write_json,
)
from specviz.commands.parser import Parser
from specviz.cost import sources
from specviz.cost.formatting import format_speedup
from specviz.cost.server.loading import MAX_CHARACTERS, find_stats, strip_metrics
from specviz.cost.server.outlook import LIMITS, Deployment
from specviz.cost.server.report import Report, build_report, format_rate
from specviz.cost.server.stats import SeveralModels, UnreadableStats
from specviz.cost.sources import HEAD
from specviz.settings.settings import count_type

MAX_WAIT: Final = 3600  # seconds between two readings
SOURCE: Final = "the server's address, a file with its statistics, or - for standard input"
UNNAMED: Final = "Name --hardware and --model to see which γ would be best there (simulated)."
POSITIONS: Final = (
    Column("Position", right=True),
    Column("Accepted, of all drafts"),
    Column("Accepted, if all before it were"),
)
CHOICES: Final = (
    Column("γ", right=True),
    Column("Tokens/pass", right=True),
    Column("Speed", right=True),
    Column(""),
)


def add_options(parser: Parser) -> None:
    """Add the options of `server`."""
    parser.add_argument("source", metavar="URL", help=SOURCE)
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--again", metavar="SECONDS", type=count_type("The wait", 1, MAX_WAIT),
        help="read twice, this many seconds apart, and report what happened in between",
    )  # fmt: skip
    again.add_argument(
        "--before", metavar="FILE", help="an earlier snapshot; count only the drafts since then"
    )
    parser.add_argument("--name", help="the model, if the server serves several")
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON (- prints them)")
    where = parser.add_argument_group("where it runs, to predict the best γ (simulated)")
    where.add_argument(
        "--hardware", choices=list(sources.machines()), help="the most similar hardware"
    )
    where.add_argument("--model", choices=list(sources.models()), help="the most similar target")
    where.add_argument(
        "--dtype", help="number format of the weights (default: the first one of the hardware)"
    )
    where.add_argument(
        "--drafter", default=HEAD, help="a head, an n-gram drafter or a model (default: head)"
    )
    _add_number(where, "cards", 1, "number of accelerators")
    _add_number(where, "context", 512, "tokens in the cache of a sequence")
    _add_number(where, "batch", None, "sequences in a pass")
    _add_number(where, "gamma", None, "guesses per draft")
    parser.set_defaults(func=run)


def _add_number(group: Any, name: str, default: int | None, meaning: str) -> None:
    label, least, most = LIMITS[name]
    shown = "what the server reports" if default is None else str(default)
    kind, text = count_type(label, least, most), f"{meaning} (default: {shown})"
    group.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=text)


def run(args: argparse.Namespace) -> int:
    """Fetch or read the statistics and print them. Raises ValueError if there are none."""
    require_writable(args.json)
    deployment = _deployment(args)
    before, text = _snapshots(args)
    try:
        report = build_report(text, before, args.name, args.gamma, deployment)
    except SeveralModels as error:
        raise ValueError(f"{error} Use --name.") from error
    if args.json != STANDARD_OUTPUT:
        _print(report)
    if args.json is not None:
        write_json(args.json, report.to_json())
    return 0


def _deployment(args: argparse.Namespace) -> Deployment | None:
    if args.hardware is None and args.model is None:
        return None
    if args.hardware is None or args.model is None:
        raise ValueError("A prediction needs both --hardware and --model.")
    dtype = args.dtype or next(iter(sources.machines()[args.hardware].peak))
    numbers = {name: getattr(args, name) for name in LIMITS}
    return Deployment(args.hardware, args.model, dtype, args.drafter, **numbers)


def _snapshots(args: argparse.Namespace) -> tuple[str, str]:
    before = _read_file(args.before) if args.before else ""
    if not args.source.startswith(("http://", "https://")):
        if args.again is not None:
            raise ValueError("--again needs a server; give an earlier snapshot as --before FILE.")
        stdin = args.source == "-"
        return before, sys.stdin.read(MAX_CHARACTERS + 1) if stdin else _read_file(args.source)
    try:
        fetch, text = find_stats(args.source, args.name)
    except SeveralModels as error:
        raise ValueError(f"{error} Use --name.") from error
    if args.again is None:
        return before, text
    time.sleep(args.again)
    return text, fetch()


def _read_file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            text = file.read(16 * MAX_CHARACTERS)
    except UnicodeDecodeError as error:
        raise UnreadableStats(f"{name!r} is not a text file.") from error
    except OSError as error:
        raise ValueError(f"{name!r} cannot be read: {error.strerror}.") from error
    return strip_metrics(text)


def _print(report: Report) -> None:
    print_pairs(report.facts)
    if report.positions:
        say()
        rates = [
            [
                str(position.number),
                format_rate(position.cumulative),
                format_rate(position.conditional),
            ]
            for position in report.positions
        ]
        print_table(POSITIONS, rates)
    say()
    for sentence in report.limitations:
        say(sentence)
    say()
    _print_simulated(report)


def _print_simulated(report: Report) -> None:
    if report.not_predicted or report.outlook is None:
        say(report.not_predicted or UNNAMED)
        return
    fitted = report.outlook.calibration is not None
    costs = "calibrated to the server's own times" if fitted else "at the usual efficiency"
    say(f"Simulated, {costs}:", "bold")
    choices = [
        [
            str(choice.gamma),
            f"{choice.tokens:.2f}",
            f"{format_speedup(choice.speedup)} plain",
            "" if choice.counted or not choice.gamma else "(tokens assumed)",
        ]
        for choice in report.outlook.shown
    ]
    print_table(CHOICES, choices)
    for sentence in report.advice:
        say(sentence)
