"""Settings as argparse options, for the command line and for the lanes of a race.

`did_you_mean` suggests a name for a misspelled one. Standard library only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Final

from specviz.settings import specs
from specviz.settings.specs import SEEDS, SettingSpec
from specviz.settings.value_types import (
    BadSettings,
    Choice,
    Integer,
    Real,
    UniformOverrides,
    ValueType,
)

MIN_PREFIX: Final = 3  # characters of a prefix for which a longer name is suggested


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'name'?" for the closest known name; empty if none is close."""
    names = {name.casefold(): name for name in known}
    word = typed.casefold()[:100]
    longer = [name for name in names if len(word) >= MIN_PREFIX and name.startswith(word)]
    found = get_close_matches(word, longer or names, n=1, cutoff=0.0 if longer else 0.6)
    return f" Did you mean {names[found[0]]!r}?" if found else ""


MAX_COUNT: Final = 1000  # prompts per domain, and repeats per prompt


def option_group(parser: argparse.ArgumentParser, heading: str) -> argparse._ArgumentGroup:
    """Return the option group with this heading, creating it on the first call."""
    groups: dict[str, argparse._ArgumentGroup] = vars(parser).setdefault("sections", {})
    if heading not in groups:
        groups[heading] = parser.add_argument_group(heading)
    return groups[heading]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. The drafter's default applies to an option left out."""
    for row in specs.SETTING_SPECS:
        group = option_group(parser, row.heading)
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
        if not row.flags and not isinstance(row.kind, UniformOverrides):
            group.add_argument(
                "--" + row.name.replace("_", "-"),
                type=option_type(row.parse),
                default=argparse.SUPPRESS,
                metavar=_metavar(row),
                help=_help(row),
            )


def _metavar(row: SettingSpec) -> str:
    """Return the placeholder for the value in the help."""
    if row.example:
        return row.example
    if isinstance(row.kind, Choice):
        return "{" + ",".join(row.kind.words) + "}"
    return "X" if isinstance(row.kind, Real) else "N"


def _help(row: SettingSpec) -> str:
    """Return the help text, followed by the range unless the placeholder shows it."""
    if isinstance(row.kind, Choice):
        return f"{row.help} ({', '.join(row.kind.words)})" if row.example else row.help
    return f"{row.help} ({row.kind.range})" if row.kind.range else row.help


def option_type(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap a parser of text as an argparse type that keeps the parser's error message."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except BadSettings as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error

    return convert


def seed_type(noun: str) -> Callable[[str], int]:
    """Return an argparse type for a 64-bit whole number; `noun` begins its error message."""
    return number_type(noun, SEEDS)


def count_type(noun: str, least: int, most: int) -> Callable[[str], int]:
    """Return an argparse type for a whole number from `least` to `most`; see `seed_type`."""
    return number_type(noun, Integer(least, most))


def number_type(noun: str, kind: ValueType) -> Callable[[str], Any]:
    """Return an argparse type for values of `kind`; `noun` begins its error message."""

    def parse(text: str) -> Any:
        value = kind.parse(noun, text)
        kind.check(noun, value)
        return value

    return option_type(parse)


def prompt_type(text: str) -> str:
    """Return the text of a prompt option; an argparse type that refuses invalid UTF-8."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("the prompt is not UTF-8")
    return text
