"""Settings and numbers as options of argparse, for the command line and for the page's lanes.

Standard library only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
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

MAX_COUNT: Final = 1000  # prompts per domain, and repeats per prompt


def option_group(parser: argparse.ArgumentParser, heading: str) -> argparse._ArgumentGroup:
    """The group of the options under this heading of the help; made if there is none yet."""
    made: dict[str, argparse._ArgumentGroup] = vars(parser).setdefault("sections", {})
    if heading not in made:
        made[heading] = parser.add_argument_group(heading)
    return made[heading]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting. If it is not given, the drafter's own default holds."""
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
    """The placeholder of the value in the help."""
    if row.example:
        return row.example
    if isinstance(row.kind, Choice):
        return "{" + ",".join(row.kind.words) + "}"
    return "X" if isinstance(row.kind, Real) else "N"


def _help(row: SettingSpec) -> str:
    """What the setting does, and its range if the placeholder does not list its values."""
    if isinstance(row.kind, Choice):
        return f"{row.help} ({', '.join(row.kind.words)})" if row.example else row.help
    return f"{row.help} ({row.kind.range})" if row.kind.range else row.help


def option_type(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap a function that reads text as a type of argparse, keeping its error message."""

    def typed(text: str) -> Any:
        try:
            return read(text)
        except BadSettings as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error

    return typed


def seed_type(noun: str) -> Callable[[str], int]:
    """An option's type: a whole number of 64 bits. noun: the subject of its error message."""
    return number_type(noun, SEEDS)


def count_type(noun: str, least: int, most: int) -> Callable[[str], int]:
    """An option's type: a whole number from `least` to `most`. noun: see `seed_type`."""
    return number_type(noun, Integer(least, most))


def number_type(noun: str, kind: ValueType) -> Callable[[str], Any]:
    """An option's type: a value of this kind. noun: the subject of its error message."""

    def read(text: str) -> Any:
        value = kind.parse(noun, text)
        kind.check(noun, value)
        return value

    return option_type(read)


def prompt_type(text: str) -> str:
    """An option's type: a text that is valid UTF-8."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("the prompt is not UTF-8")
    return text
