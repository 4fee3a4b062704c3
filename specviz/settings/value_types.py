"""Kinds of settings: how a value of each is checked, read, written and said.

Rule: between a setting and its text there is one way in (`read`) and one way out (`text`), for the
page, the command line and a lane alike. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from specviz.settings.published_trees import PUBLISHED_TREES

NUMBERS: Final = re.compile(r"([0-9]{1,3}([\s,]+[0-9]{1,3})*)?")
U_KEY: Final = re.compile(r"\d{1,6} (draft|judge|final|baseline) \d{1,6}")  # see chance.key


class BadSettings(ValueError):
    """A setting that no run can have; the message is a sentence for the person who chose it."""


def require(fits: bool, sentence: str) -> None:
    """Raise BadSettings with `sentence` unless the setting fits."""
    if not fits:
        raise BadSettings(sentence)


def parse_integer(name: str, value: Any) -> int:
    """A whole number, from text or a form's number. Raises BadSettings where it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
        return int(value)  # exactly, where a float would round a long seed
    number = parse_number(name, value)
    require(number == int(number), f"{name} must be a whole number, not {value}.")
    return int(number)


def parse_number(name: str, value: Any) -> float:
    """A number, from text or a form's. Raises BadSettings where it is none, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        given = f", not {value!r:.40}" if isinstance(value, str) and value else ""
        raise BadSettings(f"{name} must be a number{given}.") from error
    except OverflowError as error:
        raise BadSettings(f"{name} must be a smaller number.") from error
    require(math.isfinite(number), f"{name} must be a finite number.")
    return number


def parse_integers(name: str, text: Any) -> list[int]:
    """Whole numbers typed one after the other. Raises BadSettings where it is anything else."""
    typed = str(text or "").strip(" ,")
    require(bool(NUMBERS.fullmatch(typed)), f"{name} are whole numbers like 3, 2.")
    return [int(number) for number in re.findall("[0-9]+", typed)]


def parse_paths(name: str, text: Any) -> list[list[int]]:
    """Lists of whole numbers with semicolons between them. Raises BadSettings."""
    typed = str(text or "").strip(" ;")
    sentence = f"{name} are whole numbers, each path after a semicolon, like 0; 1; 0,0."
    parts = [part.strip(" ,") for part in typed.split(";")] if typed else []
    require(all(part and NUMBERS.fullmatch(part) for part in parts), sentence)
    return [parse_integers(name, part) for part in parts]


class ValueType(Protocol):
    """What one setting's values are. noun: how sentences call the setting."""

    @property
    def name(self) -> str:
        """What the page's scripts call the kind."""

    @property
    def range(self) -> str:
        """Which values there are, in few words; empty where there is nothing to say."""

    def check(self, noun: str, value: Any) -> None:
        """Raise BadSettings unless a run can have this value."""

    def parse(self, noun: str, value: Any) -> Any:
        """The value that a text, or a form's number, says. Raises BadSettings where it is none."""

    def text(self, value: Any, space: str = "") -> str:
        """The value as it is typed, `space` between the members of a list."""

    def brief(self, value: Any) -> str:
        """The value in a sentence; empty where it is not worth saying."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `least` to `most`, where there is a most.

    above, below: whether the limit itself is no longer one. words: what it must do, where figures
    would not be read.
    """

    least: float
    most: float | None = None
    above: bool = False
    below: bool = False
    words: str = ""

    @property
    def range(self) -> str:
        """See `ValueType`."""
        least = f"above {self.least:,}" if self.above else f"{self.least:,}"
        if self.words or self.most is None:
            return self.words.removeprefix("fit in ") or f"{least} or more"
        return f"{least} to {'below ' if self.below else ''}{self.most:,}"

    def holds(self, value: float) -> bool:
        """Whether the number lies in the range; NaN does not."""
        low = value > self.least if self.above else value >= self.least
        return low and (self.most is None or value < self.most or value == self.most != self.below)

    def limits(self) -> str:
        """The range, as a sentence goes on after a setting's name."""
        if self.words or self.most is None:
            return f"must {self.words or f'be {self.least:,} or more'}"
        if self.above or self.below:
            low = f"above {self.least:,}" if self.above else f"at {self.least:,} or more"
            return f"must lie {low} and {'below' if self.below else 'at most'} {self.most:,}"
        return f"must lie between {self.least:,} and {self.most:,}"

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        short = self.brief(value)
        return short if float(short) == value else repr(value)

    def brief(self, value: Any) -> str:
        """See `ValueType`: a fraction to six digits."""
        return f"{value:g}" if isinstance(value, float) else str(value)


class Real(Number):
    """A number, whole or not."""

    name: ClassVar = "real"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        require(number, f"{noun} must be a number, not {value!r:.40}.")
        require(self.holds(value), f"{noun} {self.limits()}, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> float:
        """See `ValueType`."""
        return parse_number(noun, value)


class Integer(Number):
    """A whole number."""

    name: ClassVar = "whole"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        require(type(value) is int, f"{noun} must be a whole number, not {value!r:.40}.")
        require(self.holds(value), f"{noun} {self.limits()}, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> int:
        """See `ValueType`."""
        return parse_integer(noun, value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words. titles: what the page calls them, in their order. None: any word."""

    name: ClassVar = "word"

    words: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """See `ValueType`."""
        return " or ".join(self.words)

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        require(isinstance(value, str), f"{noun} must be a word, not {value!r:.40}.")
        fits = not self.words or value in self.words
        require(fits, f"{noun} must be {self.range}, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> Any:
        """See `ValueType`."""
        return value

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        return str(value)

    def brief(self, value: Any) -> str:
        """See `ValueType`."""
        return str(value)


@dataclass(frozen=True, slots=True)
class RuleName(Choice):
    """A name out of a list, with what may follow it: "typical:0.09,0.3". The first goes unsaid.

    Which names there are, and what may follow each, whoever reads it checks.
    """

    name: ClassVar = "named"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        require(isinstance(value, str), f"{noun} must be a word, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> Any:
        """See `ValueType`: nothing typed is the first name."""
        return value.strip() or self.words[0] if isinstance(value, str) else value

    def brief(self, value: Any) -> str:
        """See `ValueType`."""
        return "" if value == self.words[0] else str(value)


@dataclass(frozen=True, slots=True)
class IntegerList:
    """A list of whole numbers. longest: members at most. each: what a sentence says of one."""

    name: ClassVar = "wholes"

    least: int
    most: int
    longest: int
    each: str

    @property
    def range(self) -> str:
        """See `ValueType`."""
        return f"{self.least} to {self.most}, {self.longest} of them at most"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        fits = isinstance(value, list) and all(type(n) is int for n in value)
        sentence = f"{noun} must be a list of whole numbers such as [3, 2], not {value!r:.60}."
        require(fits, sentence)
        few = len(value) <= self.longest
        require(few, f"{noun}: {self.longest} numbers can be given at most, not {len(value)}.")
        for n in value:
            fits = self.least <= n <= self.most
            require(fits, f"{self.each.format(f'{self.least} to {self.most}')}, not {n:,}.")

    def parse(self, noun: str, value: Any) -> list[int]:
        """See `ValueType`."""
        return parse_integers(noun, value)

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        return f",{space}".join(map(str, value))

    def brief(self, value: Any) -> str:
        """See `ValueType`: only ones are a chain, and no tree."""
        return "·".join(map(str, value)) if any(n > 1 for n in value) else ""


@dataclass(frozen=True, slots=True)
class RankPathList:
    """A list of lists of whole numbers; what can be in them, whoever reads them checks."""

    name: ClassVar = "paths"

    @property
    def range(self) -> str:
        """See `ValueType`."""
        return f"or by name: {', '.join(PUBLISHED_TREES)}"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        fits = isinstance(value, list) and all(
            isinstance(path, list) and all(type(rank) is int for rank in path) for path in value
        )
        require(fits, f"{noun} are lists of whole numbers such as [[0], [0, 1]].")

    def parse(self, noun: str, value: Any) -> list[list[int]]:
        """See `ValueType`."""
        known = PUBLISHED_TREES.get(str(value or "").strip())
        return [list(path) for path in known.paths] if known else parse_paths(noun, value)

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        return f";{space}".join(",".join(map(str, path)) for path in value)

    def brief(self, value: Any) -> str:
        """See `ValueType`: how many there are."""
        return str(len(value)) if value else ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of its own words. longest: letters at most."""

    name: ClassVar = "text"

    longest: int

    @property
    def range(self) -> str:
        """See `ValueType`."""
        return f"{self.longest:,} letters at most"

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        require(isinstance(value, str), f"{noun} must be text, not {value!r:.40}.")
        short = len(value) <= self.longest
        require(short, f"{noun} is longer than {self.longest:,} characters.")
        halves = any("\ud800" <= letter <= "\udfff" for letter in value)
        require(not halves, f"{noun} holds half a character (a lone surrogate).")

    def parse(self, noun: str, value: Any) -> Any:
        """See `ValueType`: nothing typed is an empty text."""
        return "" if value is None else value

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        return str(value)

    def brief(self, value: Any) -> str:
        """See `ValueType`: that there is one."""
        return "system text" if value else ""


@dataclass(frozen=True, slots=True)
class UniformOverrides:
    """Numbers in [0, 1) by the names of coins; they are laid in the page and typed nowhere."""

    name: ClassVar = "coins"

    range: str = ""

    def check(self, noun: str, value: Any) -> None:
        """See `ValueType`."""
        require(isinstance(value, Mapping), f"{noun} are numbers by name, not {value!r:.40}.")
        for name, u in value.items():
            fits = isinstance(u, float | int) and 0 <= u < 1
            require(fits, f"The coin {name!r:.40} must lie in [0, 1), not at {u!r:.40}.")
            require(bool(U_KEY.fullmatch(str(name))), f"No coin is called {name!r:.40}.")

    def parse(self, noun: str, value: Any) -> Any:
        """See `ValueType`."""
        return value

    def text(self, value: Any, space: str = "") -> str:
        """See `ValueType`."""
        return str(value)

    def brief(self, value: Any) -> str:
        """See `ValueType`: a sentence about coins is somebody else's."""
        return ""
