"""Read JSON Lines within limits, and convert dataclasses to plain JSON data and back.

A malicious file cannot use much memory or time, and gives a readable error; all limits on reading a
trace file are in this module. Data from a file is checked against the type of each field, and the
error names the field. A field may be missing if its default is None. Standard library only.
"""

from __future__ import annotations

import json
import math
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal


def to_plain(value: Any) -> Any:
    """Convert a dataclass to plain JSON data.

    A field whose default is None is left out if its value is None, so that older files do not
    change when they are written again. Lists of numbers are not copied.
    """
    if is_dataclass(value):
        pairs = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: to_plain(v) for f, v in pairs if v is not None or f.default is not None}
    if isinstance(value, list):
        return [to_plain(v) for v in value] if value and not isinstance(value[0], float) else value
    return value


def from_plain(cls: type, data: Any) -> Any:
    """Build a dataclass from plain data; a field may be missing if its default is None.

    Raises ValueError if a field is missing or unknown; TypeError if a value has the wrong type; the
    message names the field.
    """
    if not isinstance(data, dict):
        raise TypeError(f"a {cls.__name__} must be an object")
    hints = _hints(cls)
    needed = {f.name for f in fields(cls) if f.default is not None}
    missing, extra = sorted(needed - set(data)), sorted(set(data) - set(hints))
    if missing or extra:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(extra)}"
        raise ValueError(problem)
    return cls(**{name: _convert(name, hints[name], value) for name, value in data.items()})


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls)}


def _convert(name: str, hint: Any, value: Any) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):  # X | None; Union if X is a Literal
        return None if value is None else _convert(name, args[0], value)
    if origin is list and isinstance(value, list):
        return [_convert(name, args[0], v) for v in value]
    if origin is dict and isinstance(value, dict):
        return {k: _convert(name, args[1], v) for k, v in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, value)
    if not _fits(hint, origin, args, value):
        raise TypeError(f"{name} cannot be {value!r:.40}")
    return value


def _fits(hint: Any, origin: Any, args: tuple[Any, ...], value: Any) -> bool:
    # A bool does not count as a number.
    if hint is Any:
        return True
    if origin is Literal:
        return value in args
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float)
    return origin is None and isinstance(value, hint)


# Maximum number of lines after the header. The longest run allowed has 4,096 rounds, and a round
# that judges a whole tree of 128 guesses has 134 lines.
EVENTS: Final = 4096 * 134
LINE_BYTES: Final = 16 * 2**20
FILE_BYTES: Final = 256 * 2**20
DEPTH: Final = 64  # maximum levels of nested objects and lists; real traces have 8
DIGITS: Final = 40  # maximum digits of a whole number; the longest in real traces is a 64-bit seed
SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class OverLimit(ValueError):
    """Raised if a limit was exceeded, with a sentence; line: from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def read_lines(path: Path | str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, one at a time, without a byte order mark.

    Raises OverLimit if a line or the file is too long; OSError if the file cannot be opened;
    UnicodeDecodeError if a line is not UTF-8.
    """
    total, number = 0, 0
    with Path(path).open("rb") as file:
        while line := file.readline(LINE_BYTES + 1):
            number, total = number + 1, total + len(line)
            if len(line) > LINE_BYTES:
                raise OverLimit(number, f"The line is longer than {LINE_BYTES // 2**20} MB.")
            if total > FILE_BYTES:
                raise OverLimit(number, f"The file is longer than {FILE_BYTES // 2**20} MB.")
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")


def parse_json(line: str) -> Any:
    """Parse one line of strict JSON.

    Raises ValueError with a clause that says what is wrong. Also raised for what Python's parser
    accepts: duplicate keys, numbers that are not finite, whole numbers of more than DIGITS digits,
    nesting deeper than DEPTH, and lone surrogates.
    """
    try:
        data = json.loads(
            line,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
            object_pairs_hook=_distinct,
        )
    except RecursionError as error:
        raise ValueError(_too_deep()) from error
    if not _shallow(data, DEPTH):
        raise ValueError(_too_deep())
    if SURROGATE.search(line):
        _refuse_surrogates(data)
    return data


def _too_deep() -> str:
    return f"it is nested deeper than {DEPTH} levels"


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(each, levels - 1) for each in inside)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.40} occurs twice")
    return found


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text:.40} is too large")
    return number


def _short(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a whole number has {len(text):,} digits")
    return int(text)


def _refuse_surrogates(data: Any) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("it contains half a character (a lone surrogate)") from error
