"""Value types of settings, which check, parse and format values.

The page, the command line and the lanes of a race all use `parse` to convert text to a value and
`text` to convert it back. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from specviz.settings.published_trees import PUBLISHED_TREES
from specviz.settings.suggestion import did_you_mean

NUMBERS: Final = re.compile(r"([0-9]{1,3}([\s,]+[0-9]{1,3})*)?")
U_KEY: Final = re.compile(  # see `chance.u_key`
    r"(0|[1-9]\d{0,5}) (draft|judge|final|baseline) (0|[1-9]\d{0,5})", re.ASCII
)


class BadSettings(ValueError):
    """Raised if a setting is not valid; the message is a sentence for the user."""


def require(fits: bool, sentence: str) -> None:
    """Raise BadSettings with `sentence` unless `fits` is true."""
    if not fits:
        raise BadSettings(sentence)


def parse_integer(name: str, value: Any) -> int:
    """Parse a whole number from text or from a form's number.

    Raises BadSettings if it is not a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
        return int(value)  # exact; a float would round a long seed
    number = parse_number(name, value)
    require(number == int(number), f"{name} must be a whole number, not {value}.")
    return int(number)


def parse_number(name: str, value: Any) -> float:
    """Parse a finite number from text or from a form's number.

    Raises BadSettings if it is not a finite number.
    """
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
    """Parse whole numbers separated by commas or spaces.

    Raises BadSettings if the text contains anything else.
    """
    typed = str(text or "").strip(" ,")
    require(bool(NUMBERS.fullmatch(typed)), f"{name} must be whole numbers like 3, 2.")
    return [int(number) for number in re.findall("[0-9]+", typed)]


def parse_paths(name: str, text: Any) -> list[list[int]]:
    """Parse lists of whole numbers separated by semicolons.

    Raises BadSettings if the text contains anything else.
    """
    typed = str(text or "").strip(" ;")
    sentence = f"{name} must be whole numbers with a semicolon between paths, like 0; 1; 0,0."
    parts = [part.strip(" ,") for part in typed.split(";")] if typed else []
    require(all(part and NUMBERS.fullmatch(part) for part in parts), sentence)
    return [parse_integers(name, part) for part in parts]


class ValueType:
    """The type of a setting's values; `noun` is the setting's name in error messages.

    Attributes:
        name: The type's name in the page's scripts.
    """

    __slots__ = ()
    name: ClassVar[str]

    @property
    def range(self) -> str:
        """Return the allowed values in a few words; empty if any value is allowed."""
        return ""

    def check(self, noun: str, value: Any) -> None:
        """Check a value. Raises BadSettings if the value is not valid."""
        raise NotImplementedError

    def parse(self, noun: str, value: Any) -> Any:
        """Parse text or a form's number. Raises BadSettings if the value is not of this type."""
        return value

    def text(self, value: Any, space: str = "") -> str:
        """Format a value as a user would type it, with `space` between the items of a list."""
        return str(value)

    def brief(self, value: Any) -> str:
        """Format a value for a run's summary; empty if it is not shown there."""
        return str(value)


@dataclass(frozen=True, slots=True)
class Number(ValueType):
    """A number from `least` to `most`.

    Attributes:
        least: The lower limit.
        most: The upper limit; None if there is none.
        above: Whether the value must be above `least`.
        below: Whether the value must be below `most`.
        words: A predicate such as "fit in 64 bits", used instead of limits with too many digits.
    """

    least: float
    most: float | None = None
    above: bool = False
    below: bool = False
    words: str = ""

    @property
    def range(self) -> str:
        """Implement `ValueType.range`."""
        least = f"above {self.least:,}" if self.above else f"{self.least:,}"
        if self.words or self.most is None:
            return self.words.removeprefix("fit in ") or f"{least} or more"
        return f"{least} to {'below ' if self.below else ''}{self.most:,}"

    def contains(self, value: float) -> bool:
        """Return whether a number is in the range; NaN is not."""
        low = value > self.least if self.above else value >= self.least
        return low and (self.most is None or value < self.most or value == self.most != self.below)

    def limits(self) -> str:
        """Return the range as a predicate, such as "must be between 1 and 16"."""
        if self.words or self.most is None:
            return f"must {self.words or f'be {self.least:,} or more'}"
        if self.above or self.below:
            low = f"above {self.least:,}" if self.above else f"at least {self.least:,}"
            return f"must be {low} and {'below' if self.below else 'at most'} {self.most:,}"
        return f"must be between {self.least:,} and {self.most:,}"

    def text(self, value: Any, space: str = "") -> str:
        """Implement `ValueType.text`."""
        short = self.brief(value)
        return short if float(short) == value else repr(value)

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: a fraction has at most six digits."""
        return f"{value:g}" if isinstance(value, float) else str(value)


class Real(Number):
    """A number, whole or not."""

    name: ClassVar = "real"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        require(number, f"{noun} must be a number, not {value!r:.40}.")
        require(self.contains(value), f"{noun} {self.limits()}, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> float:
        """Implement `ValueType.parse`."""
        return parse_number(noun, value)


class Integer(Number):
    """A whole number."""

    name: ClassVar = "whole"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        require(type(value) is int, f"{noun} must be a whole number, not {value!r:.40}.")
        require(self.contains(value), f"{noun} {self.limits()}, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> int:
        """Implement `ValueType.parse`."""
        return parse_integer(noun, value)


@dataclass(frozen=True, slots=True)
class Choice(ValueType):
    """One of a few words.

    Attributes:
        words: The words; empty if any word is allowed.
        titles: The words' titles on the page, in the same order.
    """

    name: ClassVar = "word"

    words: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """Implement `ValueType.range`."""
        return " or ".join(self.words)

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        require(isinstance(value, str), f"{noun} must be a word, not {value!r:.40}.")
        fits = not self.words or value in self.words
        hint = "" if fits else did_you_mean(value, self.words)
        require(fits, f"{noun} must be {self.range}, not {value!r:.40}.{hint}")


@dataclass(frozen=True, slots=True)
class RuleName(Choice):
    """A rule with parameters, such as "typical:0.09,0.3"; the first name is the default."""

    name: ClassVar = "named"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        require(isinstance(value, str), f"{noun} must be a word, not {value!r:.40}.")

    def parse(self, noun: str, value: Any) -> Any:
        """Implement `ValueType.parse`: an empty text gives the first name."""
        return value.strip() or self.words[0] if isinstance(value, str) else value

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: the first name is not shown."""
        return "" if value == self.words[0] else str(value)


@dataclass(frozen=True, slots=True)
class IntegerList(ValueType):
    """A list of whole numbers.

    Attributes:
        least: The smallest allowed number.
        longest: The maximum length of the list.
        each: A clause about a single number, with {} for the range.
    """

    name: ClassVar = "wholes"

    least: int
    most: int
    longest: int
    each: str

    @property
    def range(self) -> str:
        """Implement `ValueType.range`."""
        return f"{self.least} to {self.most}, {self.longest} of them at most"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        fits = isinstance(value, list) and all(type(n) is int for n in value)
        sentence = f"{noun} must be a list of whole numbers such as [3, 2], not {value!r:.60}."
        require(fits, sentence)
        short = len(value) <= self.longest
        require(short, f"{noun} can have at most {self.longest} numbers, not {len(value)}.")
        for n in value:
            fits = self.least <= n <= self.most
            require(fits, f"{self.each.format(f'{self.least} to {self.most}')}, not {n:,}.")

    def parse(self, noun: str, value: Any) -> list[int]:
        """Implement `ValueType.parse`."""
        return parse_integers(noun, value)

    def text(self, value: Any, space: str = "") -> str:
        """Implement `ValueType.text`."""
        return f",{space}".join(map(str, value))

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: a list of ones is a chain and is not shown."""
        return "·".join(map(str, value)) if any(n > 1 for n in value) else ""


@dataclass(frozen=True, slots=True)
class RankPathList(ValueType):
    """A list of paths, each a list of ranks; the drafter checks which paths it can follow."""

    name: ClassVar = "paths"

    @property
    def range(self) -> str:
        """Implement `ValueType.range`."""
        return f"or by name: {', '.join(PUBLISHED_TREES)}"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        fits = isinstance(value, list) and all(
            isinstance(path, list) and all(type(rank) is int for rank in path) for path in value
        )
        require(fits, f"{noun} must be lists of whole numbers such as [[0], [0, 1]].")

    def parse(self, noun: str, value: Any) -> list[list[int]]:
        """Implement `ValueType.parse`: the name of a published tree is accepted, too."""
        known = PUBLISHED_TREES.get(str(value or "").strip())
        return [list(path) for path in known.paths] if known else parse_paths(noun, value)

    def text(self, value: Any, space: str = "") -> str:
        """Implement `ValueType.text`."""
        return f";{space}".join(",".join(map(str, path)) for path in value)

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: the number of paths."""
        return str(len(value)) if value else ""


@dataclass(frozen=True, slots=True)
class Text(ValueType):
    """Free text of at most `longest` characters."""

    name: ClassVar = "text"

    longest: int

    @property
    def range(self) -> str:
        """Implement `ValueType.range`."""
        return f"{self.longest:,} characters at most"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        require(isinstance(value, str), f"{noun} must be text, not {value!r:.40}.")
        short = len(value) <= self.longest
        require(short, f"{noun} is longer than {self.longest:,} characters.")
        surrogates = any("\ud800" <= letter <= "\udfff" for letter in value)
        require(not surrogates, f"{noun} contains half a character (a lone surrogate).")

    def parse(self, noun: str, value: Any) -> Any:
        """Implement `ValueType.parse`: None is an empty text."""
        return "" if value is None else value

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: only says that there is a system text."""
        return "system text" if value else ""


@dataclass(frozen=True, slots=True)
class UniformOverrides(ValueType):
    """Random numbers in [0, 1) set by hand, by the key of `chance.u_key`; only on the page."""

    name: ClassVar = "coins"

    def check(self, noun: str, value: Any) -> None:
        """Implement `ValueType.check`."""
        mapping = isinstance(value, Mapping)
        require(mapping, f"{noun} must map names of coins to numbers, not {value!r:.40}.")
        for name, u in value.items():
            fits = isinstance(u, float | int) and 0 <= u < 1
            require(fits, f"The coin {name!r:.40} must be at least 0 and below 1, not {u!r:.40}.")
            require(bool(U_KEY.fullmatch(str(name))), f"No coin is called {name!r:.40}.")

    def brief(self, value: Any) -> str:
        """Implement `ValueType.brief`: these numbers are described elsewhere."""
        return ""
