"""`server`: the acceptance statistics of a server that decodes speculatively, and which γ is best.

Rule: what the server counted and what is simulated are kept apart. Input that cannot be read or
fetched ends in one sentence and status 2.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
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
from specviz.cost.server.deployment import LIMITS, Deployment
from specviz.cost.server.fetching import find_stats, strip_metrics
from specviz.cost.server.parsing import MAX_CHARACTERS
from specviz.cost.server.report import Report, build_report, format_rate
from specviz.cost.server.stats import SeveralModels, UnreadableStats
from specviz.cost.sources import HEAD
from specviz.settings.options import count_type

LONGEST_WAIT: Final = 3600  # seconds
SOURCE: Final = "the server's address, a file with its statistics, or - for standard input"
UNNAMED: Final = "Name --hardware and --model to see which γ would be best there (simulated)."
POSITIONS: Final = (
    Column("Position", right=True),
    Column("Accepted, of all drafts"),
    Column("Accepted, if all before were"),
)
CHOICES: Final = (
    Column("γ", right=True),
    Column("Tokens/pass", right=True),
    Column("Speed", right=True),
    Column(""),
)


def add_options(parser: Parser) -> None:
    """Add the options of `server`."""
    parser.add_argument("place", metavar="URL", help=SOURCE)
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--again", metavar="SECONDS", type=count_type("The wait", 1, LONGEST_WAIT),
        help="read twice, so many seconds apart, and count only what happened in between",
    )  # fmt: skip
    again.add_argument("--before", metavar="FILE", help="an earlier snapshot, to count since then")
    parser.add_argument("--name", help="the model, if the server has several")
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON (- prints them)")
    where = parser.add_argument_group("where it runs, to predict another γ (simulated)")
    where.add_argument("--hardware", choices=list(sources.machines()))
    where.add_argument("--model", choices=list(sources.models()), help="the most similar target")
    where.add_argument("--dtype", help="of the weights (default: the hardware's first)")
    where.add_argument("--drafter", default=HEAD, help="head, n-gram, or a model (default: head)")
    _number(where, "cards", 1, "how many of them")
    _number(where, "context", 512, "tokens in the cache of a sequence")
    _number(where, "batch", None, "sequences in a pass")
    _number(where, "gamma", None, "guesses in a draft")
    parser.set_defaults(func=run)


def _number(where: Any, name: str, usual: int | None, what: str) -> None:
    called, least, most = LIMITS[name]
    default = "what the server says" if usual is None else str(usual)
    kind, text = count_type(called, least, most), f"{what} (default: {default})"
    where.add_argument(f"--{name}", type=kind, default=usual, metavar="N", help=text)


def run(args: argparse.Namespace) -> int:
    """Fetch or read, then print. Raises ValueError with a sentence."""
    require_writable(args.json)
    site = _site(args)
    before, text = _texts(args)
    try:
        made = build_report(text, before, args.name, args.gamma, site)
    except SeveralModels as problem:
        raise ValueError(f"{problem} Use --name.") from problem
    if args.json != STANDARD_OUTPUT:
        _print(made)
    if args.json is not None:
        write_json(args.json, numbers(made))
    return 0


def _site(args: argparse.Namespace) -> Deployment | None:
    if args.hardware is None and args.model is None:
        return None
    if args.hardware is None or args.model is None:
        raise ValueError("A prediction needs both --hardware and --model.")
    dtype = args.dtype or next(iter(sources.machines()[args.hardware].peak))
    numbers = {name: getattr(args, name) for name in LIMITS}
    return Deployment(args.hardware, args.model, dtype, args.drafter, **numbers)


def _texts(args: argparse.Namespace) -> tuple[str, str]:
    """The earlier snapshot, "" for none, and the later one."""
    before = _file(args.before) if args.before else ""
    if not args.place.startswith(("http://", "https://")):
        if args.again is not None:
            raise ValueError("--again asks a server; give the earlier snapshot as --before FILE.")
        return before, sys.stdin.read(MAX_CHARACTERS + 1) if args.place == "-" else _file(
            args.place
        )
    try:
        place, text = find_stats(args.place, args.name)
    except SeveralModels as problem:
        raise ValueError(f"{problem} Use --name.") from problem
    if args.again is None:
        return before, text
    time.sleep(args.again)
    return text, place.text()


def _file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8") as file:
            text = file.read(16 * MAX_CHARACTERS)
    except UnicodeDecodeError as error:
        raise UnreadableStats(f"{name!r} is no text.") from error
    except OSError as error:
        raise ValueError(f"{name!r} cannot be read: {error.strerror}.") from error
    return strip_metrics(text)


def _print(made: Report) -> None:
    """Print what was counted, what is missing, and what is simulated."""
    print_pairs(made.facts)
    if made.positions:
        say()
        rates = [
            [str(place.number), format_rate(place.reached), format_rate(place.given)]
            for place in made.positions
        ]
        print_table(POSITIONS, rates)
    say()
    for sentence in made.limitations:
        say(sentence)
    say()
    _print_simulated(made)


def _print_simulated(made: Report) -> None:
    if made.not_predicted or made.outlook is None:
        say(made.not_predicted or UNNAMED)
        return
    say("Simulated, with passes as fast as the data sheet allows:", "bold")
    choices = [
        [
            str(choice.gamma),
            f"{choice.tokens:.2f}",
            f"{format_speedup(choice.speedup)} plain",
            "" if choice.counted or not choice.gamma else "(tokens assumed)",
        ]
        for choice in made.outlook.choices
    ]
    print_table(CHOICES, choices)
    for sentence in made.advice:
        say(sentence)


def numbers(made: Report) -> dict[str, Any]:
    """The same as data; predictions are under `simulated`."""
    told = asdict(made.stats)
    notes = [*told.pop("notes"), *made.limitations]
    outlook = made.outlook
    return {
        "told": told,
        "tokens_per_pass": asdict(made.tokens),
        "positions": [asdict(place) for place in made.positions],
        "unsaid": list(dict.fromkeys(notes)),
        "simulated": outlook and {**asdict(outlook), "advice": list(made.advice)},
        "not_predicted": made.not_predicted or None,
    }
