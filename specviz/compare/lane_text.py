"""A lane as people type it, on the command line and in the page: "draft-model gamma=8".

Rule: what a lane says holds in that lane, what is said beside the lanes in all of them; where
neither says anything, a drafter has what suits it.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from specviz.catalog.entry import settings_of
from specviz.compare.race import Lane
from specviz.models.files import public_name
from specviz.settings.options import add_settings
from specviz.settings.settings import BadSettings, require

EXAMPLE: Final = "'draft-model gamma=8 siblings=2,2'"


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """A lane as somebody says it. words: as typed. options: all options, its own among them.

    where: what its faults begin with.
    """

    words: str
    drafter: str
    options: argparse.Namespace
    where: str = ""

    def lane(self, name: str) -> Lane:
        """The lane, called `name`. Raises BadSettings."""
        try:
            return Lane(name, self.drafter, settings_of(self.options, self.drafter))
        except BadSettings as error:
            raise BadSettings(f"{self.where}{error}") from error


class LaneParser(argparse.ArgumentParser):
    """A parser of one lane's settings; what is wrong with them raises BadSettings."""

    def error(self, message: str) -> NoReturn:
        """Raise the complaint, in the words of a lane: there an option has no dashes."""
        raise BadSettings(f"{re.sub('^argument --[^:]*: ', '', message)}.")


def parse_lane(text: str, args: argparse.Namespace, where: str | None = None) -> LaneRequest:
    """A lane such as "draft-model gamma=8": a drafter, then settings by the names that `run` has.

    args: all other options, which hold where the lane says nothing. where: what its faults begin
    with, the lane itself unless given. Raises BadSettings.
    """
    where = f"Lane {text!r}: " if where is None else where
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadSettings(f"{where}{error}.") from error
    require(bool(words), f"A lane is a drafter and its settings, such as {EXAMPLE}.")
    drafter, *pairs = words
    said = argparse.Namespace(**vars(args) | vars(_own(pairs, where)))
    return LaneRequest(" ".join([public_name(drafter), *pairs]), drafter, said, where)


def _own(pairs: Sequence[str], where: str) -> argparse.Namespace:
    """The settings that a lane itself says. Raises BadSettings, beginning with `where`."""
    for pair in pairs:
        require("=" in pair[1:], f"{where}{pair!r} is no setting; one looks like gamma=8.")
    parser = LaneParser(add_help=False, allow_abbrev=False)
    add_settings(parser)
    options = [
        (name.replace("_", "-"), value) for name, _, value in (p.partition("=") for p in pairs)
    ]
    try:
        own, unknown = parser.parse_known_args([f"--{name}={value}" for name, value in options])
    except BadSettings as error:
        raise BadSettings(f"{where}{error}") from error
    strange = ", ".join(word.removeprefix("--").partition("=")[0] for word in unknown)
    require(not unknown, f"{where}no setting is called {strange}.")
    return own
