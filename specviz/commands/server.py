"""`server`: what a server that decodes speculatively says of itself, and which γ would be better.

Rule: what the server counted and what is simulated stand apart. Whatever cannot be read or fetched
is a sentence and status 2.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from specviz.commands.outputs import STANDARD_OUTPUT, printable, require_writable, write_json
from specviz.cost import sources
from specviz.cost.drafting import HEAD
from specviz.cost.server import words
from specviz.cost.server.fetching import find, shortened
from specviz.cost.server.reading import LONGEST
from specviz.cost.server.report import Report, report
from specviz.cost.server.site import LIMITS, Site
from specviz.cost.server.told import SeveralModels, Unreadable
from specviz.cost.spoken import times
from specviz.settings.options import count

LONGEST_WAIT: Final = 3600  # seconds
WHERE: Final = "the server's address, a file with what it said, or - for standard input"
UNNAMED: Final = "Name --hardware and --model to see which γ would be best there (simulated)."


def add_parser(subparsers: Any) -> None:
    """Add `server` to the command line."""
    parser = subparsers.add_parser("server", help="what a server says of its own guesses")
    parser.add_argument("place", metavar="URL", help=WHERE)
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--again", metavar="SECONDS", type=count("The wait", 1, LONGEST_WAIT),
        help="ask twice, so long apart: only what happened between counts",
    )  # fmt: skip
    again.add_argument("--before", metavar="FILE", help="an earlier snapshot, for the difference")
    parser.add_argument("--name", help="the model, where the server has several")
    parser.add_argument("--json", metavar="FILE", help="write the numbers; - prints them")
    where = parser.add_argument_group("where it runs, to predict another γ (simulated)")
    where.add_argument("--hardware", choices=list(sources.machines()))
    where.add_argument("--model", choices=list(sources.models()), help="the nearest target")
    where.add_argument("--dtype", help="of the weights (the first that the hardware has)")
    where.add_argument("--drafter", default=HEAD, help="head, n-gram, or a model's name (head)")
    for name, usual in (("cards", 1), ("context", 512), ("batch", None), ("gamma", None)):
        _number(where, name, usual)
    parser.set_defaults(func=run)


def _number(where: Any, name: str, usual: int | None) -> None:
    called, least, most = LIMITS[name]
    said = "the server's own" if usual is None else str(usual)
    kind = count(called, least, most)
    where.add_argument(f"--{name}", type=kind, default=usual, metavar="N", help=f"({said})")


def run(args: argparse.Namespace) -> int:
    """Fetch or read, then print. Raises ValueError with a sentence."""
    require_writable(args.json)
    site = _site(args)
    before, text = _texts(args)
    try:
        made = report(text, before, args.name, args.gamma, site)
    except SeveralModels as problem:
        raise ValueError(f"{problem} Use --name.") from problem
    if args.json != STANDARD_OUTPUT:
        for line in lines(made):
            print(printable(line))
    if args.json is not None:
        write_json(args.json, numbers(made))
    return 0


def _site(args: argparse.Namespace) -> Site | None:
    if args.hardware is None and args.model is None:
        return None
    if args.hardware is None or args.model is None:
        raise ValueError("A prediction needs both --hardware and --model.")
    dtype = args.dtype or next(iter(sources.machines()[args.hardware].peak))
    numbers = {name: getattr(args, name) for name in LIMITS}
    return Site(args.hardware, args.model, dtype, args.drafter, **numbers)


def _texts(args: argparse.Namespace) -> tuple[str, str]:
    """The earlier snapshot, "" for none, and the later one."""
    before = _file(args.before) if args.before else ""
    if not args.place.startswith(("http://", "https://")):
        if args.again is not None:
            raise ValueError("--again asks a server; give the earlier snapshot as --before FILE.")
        return before, sys.stdin.read(LONGEST + 1) if args.place == "-" else _file(args.place)
    try:
        place, text = find(args.place, args.name)
    except SeveralModels as problem:
        raise ValueError(f"{problem} Use --name.") from problem
    if args.again is None:
        return before, text
    time.sleep(args.again)
    return text, place.text()


def _file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8") as file:
            text = file.read(16 * LONGEST)
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name!r} is no text.") from error
    except OSError as error:
        raise ValueError(f"{name!r} cannot be read: {error.strerror}.") from error
    return shortened(text)


def lines(made: Report) -> Iterator[str]:
    """What is printed."""
    wide = max(len(name) for name, _ in made.facts)
    for name, value in made.facts:
        yield f"{name:{wide}}  {value}"
    if made.places:
        yield ""
        yield f"{'position':8}  {'kept, of all drafts':24}  kept, once all before were"
    for place in made.places:
        yield f"{place.number:8}  {words.rate(place.reached):24}  {words.rate(place.given)}"
    yield ""
    yield from made.unsaid
    yield ""
    yield from _simulated(made)


def _simulated(made: Report) -> Iterator[str]:
    if made.open or made.outlook is None:
        yield made.open or UNNAMED
        return
    yield "Simulated, with passes as fast as the data sheet lets them be:"
    for choice in made.outlook.choices:
        mark = "" if choice.counted or not choice.gamma else "  (tokens assumed)"
        yield (
            f"  γ {choice.gamma:2}  {choice.tokens:5.2f} tokens a pass  "
            f"{times(choice.speedup)} plain{mark}"
        )
    yield from made.advice


def numbers(made: Report) -> dict[str, Any]:
    """The same as data; what was predicted stands under `simulated`."""
    told = asdict(made.told)
    notes = [*told.pop("notes"), *made.unsaid]
    outlook = made.outlook
    return {
        "told": told,
        "tokens_per_pass": asdict(made.tokens),
        "positions": [asdict(place) for place in made.places],
        "unsaid": list(dict.fromkeys(notes)),
        "simulated": outlook and {**asdict(outlook), "advice": list(made.advice)},
        "not_predicted": made.open or None,
    }
