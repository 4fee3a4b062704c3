"""Parse a lane as typed on the command line or the page: "draft-model gamma=8".

Settings inside a lane hold for that lane, options outside hold for all lanes, and the drafter's
defaults fill in the rest.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from specviz.catalog.entry import settings_from_args
from specviz.compare.race import Lane
from specviz.models.files import public_name
from specviz.settings.options import add_settings
from specviz.settings.settings import BadSettings, require

EXAMPLE: Final = "'draft-model gamma=8 siblings=2,2'"


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """A parsed lane.

    Attributes:
        text: As typed.
        drafter: Its drafter.
        options: All options, including the lane's own settings.
        error_prefix: What its error messages start with.
    """

    text: str
    drafter: str
    options: argparse.Namespace
    error_prefix: str = ""

    def lane(self, name: str) -> Lane:
        """Build the lane, called `name`. Raises BadSettings."""
        try:
            return Lane(name, self.drafter, settings_from_args(self.options, self.drafter))
        except BadSettings as error:
            raise BadSettings(f"{self.error_prefix}{error}") from error


class LaneParser(argparse.ArgumentParser):
    """A parser of one lane's settings that raises BadSettings instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise BadSettings. A lane's settings have no dashes, so the option's name is cut off."""
        raise BadSettings(f"{re.sub('^argument --[^:]*: ', '', message)}.")


def parse_lane(text: str, args: argparse.Namespace, prefix: str | None = None) -> LaneRequest:
    """Parse a drafter and its settings, named like the options of `run`.

    Args:
        text: For example "draft-model gamma=8".
        args: The options for all lanes.
        prefix: What error messages start with; the lane itself by default.

    Raises:
        BadSettings: With a sentence.
    """
    prefix = f"Lane {text!r}: " if prefix is None else prefix
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadSettings(f"{prefix}{error}.") from error
    require(bool(words), f"A lane is a drafter and its settings, such as {EXAMPLE}.")
    drafter, *pairs = words
    options = argparse.Namespace(**vars(args) | vars(_parse_settings(pairs, prefix)))
    return LaneRequest(" ".join([public_name(drafter), *pairs]), drafter, options, prefix)


def _parse_settings(pairs: Sequence[str], prefix: str) -> argparse.Namespace:
    """Parse a lane's own settings. Raises BadSettings."""
    for pair in pairs:
        require("=" in pair[1:], f"{prefix}{pair!r} is not a setting; write it like gamma=8.")
    parser = LaneParser(add_help=False, allow_abbrev=False)
    add_settings(parser)
    options = [
        (name.replace("_", "-"), value) for name, _, value in (p.partition("=") for p in pairs)
    ]
    try:
        own, unknown = parser.parse_known_args([f"--{name}={value}" for name, value in options])
    except BadSettings as error:
        raise BadSettings(f"{prefix}{error}") from error
    strange = ", ".join(word.removeprefix("--").partition("=")[0] for word in unknown)
    require(not unknown, f"{prefix}there is no setting called {strange}.")
    return own
