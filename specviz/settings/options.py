"""Settings and numbers as options of argparse, for the command line and for the page's lanes.

Standard library only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from specviz.settings import knobs
from specviz.settings.kinds import BadSettings, Coins, Kind, Real, Whole, Word
from specviz.settings.knobs import SEEDS, Knob

MOST: Final = 1000  # prompts per domain, and repeats per prompt


def section(parser: argparse.ArgumentParser, heading: str) -> argparse._ArgumentGroup:
    """The group of the options under this heading of the help; made if there is none yet."""
    made: dict[str, argparse._ArgumentGroup] = vars(parser).setdefault("sections", {})
    if heading not in made:
        made[heading] = parser.add_argument_group(heading)
    return made[heading]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. If it is not given, the drafter's own default holds."""
    for row in knobs.KNOBS:
        group = section(parser, row.heading)
        either = group.add_mutually_exclusive_group() if row.flags else None
        for word, text in row.flags:
            assert either is not None
            either.add_argument(
                "--" + word,
                dest=row.name,
                action="store_const",
                const=word,
                default=argparse.SUPPRESS,
                help=text,
            )
        if not row.flags and not isinstance(row.kind, Coins):
            group.add_argument(
                "--" + row.name.replace("_", "-"),
                type=option(row.read),
                default=argparse.SUPPRESS,
                metavar=_metavar(row),
                help=_help(row),
            )


def _metavar(row: Knob) -> str:
    """The placeholder of the value in the help."""
    if row.example:
        return row.example
    if isinstance(row.kind, Word):
        return "{" + ",".join(row.kind.words) + "}"
    return "X" if isinstance(row.kind, Real) else "N"


def _help(row: Knob) -> str:
    """What the setting does, and its range if the placeholder does not list its values."""
    if isinstance(row.kind, Word):
        return f"{row.help} ({', '.join(row.kind.words)})" if row.example else row.help
    return f"{row.help} ({row.kind.range})" if row.kind.range else row.help


def option(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap a function that reads text as a type of argparse, keeping its error message."""

    def typed(text: str) -> Any:
        try:
            return read(text)
        except BadSettings as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error

    return typed


def seed(noun: str) -> Callable[[str], int]:
    """An option's type: a whole number of 64 bits. noun: the subject of its error message."""
    return number(noun, SEEDS)


def count(noun: str, least: int, most: int) -> Callable[[str], int]:
    """An option's type: a whole number from `least` to `most`. noun: see `seed`."""
    return number(noun, Whole(least, most))


def number(noun: str, kind: Kind) -> Callable[[str], Any]:
    """An option's type: a value of this kind. noun: the subject of its error message."""

    def read(text: str) -> Any:
        value = kind.read(noun, text)
        kind.check(noun, value)
        return value

    return option(read)


def prompt(text: str) -> str:
    """An option's type: a text that is valid UTF-8."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("the prompt is not UTF-8")
    return text
