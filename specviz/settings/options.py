"""Settings and numbers as options: words of the command line, and of a lane typed in the page.

Standard library only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from specviz.settings import knobs
from specviz.settings.kinds import BadSettings, Coins, Kind, Whole, Word
from specviz.settings.knobs import SEEDS, Knob

MOST: Final = 1000  # prompts of a domain, and turns of a prompt: nobody waits for more


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. One that is not given is as usual with the drafter."""
    group = parser.add_argument_group("settings", "what is not given is as usual with the drafter")
    for row in knobs.KNOBS:
        either = group.add_mutually_exclusive_group() if row.flags else None
        for word, said in row.flags:
            assert either is not None
            either.add_argument(
                "--" + word,
                dest=row.name,
                action="store_const",
                const=word,
                default=argparse.SUPPRESS,
                help=said,
            )
        if not row.flags and not isinstance(row.kind, Coins):
            group.add_argument(
                "--" + row.name.replace("_", "-"),
                type=option(row.read),
                default=argparse.SUPPRESS,
                metavar=_metavar(row),
                help=f"{row.help} ({row.kind.range})" if row.kind.range else row.help,
            )


def _metavar(row: Knob) -> str | None:
    """What stands for the value in the help; None for the option's own name."""
    words = row.kind.words if isinstance(row.kind, Word) else ()
    return row.example or ("{" + ",".join(words) + "}" if words else None)


def option(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader of text as argparse takes it: a complaint is the reader's own sentence."""

    def typed(text: str) -> Any:
        try:
            return read(text)
        except BadSettings as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error

    return typed


def seed(noun: str) -> Callable[[str], int]:
    """An option's type: a whole number of 64 bits. noun: how its complaint begins."""
    return number(noun, SEEDS)


def count(noun: str, least: int, most: int) -> Callable[[str], int]:
    """An option's type: a whole number from `least` to `most`. noun: how its complaint begins."""
    return number(noun, Whole(least, most))


def number(noun: str, kind: Kind) -> Callable[[str], Any]:
    """An option's type: a value of this kind. noun: how its complaint begins."""

    def read(text: str) -> Any:
        value = kind.read(noun, text)
        kind.check(noun, value)
        return value

    return option(read)


def prompt(text: str) -> str:
    """An option's type: text that can be written, as a command line's bytes need not be."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("the prompt is not UTF-8, so it is no text")
    return text
