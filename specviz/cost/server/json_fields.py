"""Numbers in JSON from outside: looked up by name, checked, and refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from specviz.cost.server.stats import MAX_NUMBER, MAX_POSITIONS, UnreadableStats

MAX_ROWS: Final = 5_000  # of a list


def parse_json(text: str) -> Any:
    """The JSON that a text is. Raises Unreadable with a sentence."""
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as problem:
        raise UnreadableStats("This begins like JSON and is none, or is not whole.") from problem


def _refused(name: str) -> float:
    raise ValueError(name)


def optional_number(data: Mapping[str, Any], name: str) -> float | None:
    """A count or an average; None where it is not there. Raises Unreadable."""
    value = data.get(name)
    if value is None:
        return None
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not (isfinite(value) and 0 <= value <= MAX_NUMBER):
        raise UnreadableStats(f"“{name}” must be a number from 0 on.")
    return float(value)


def required_number(data: Mapping[str, Any], name: str) -> float:
    """The same, where nothing can be said without it."""
    value = optional_number(data, name)
    if value is None:
        raise UnreadableStats(f"“{name}” is missing.")
    return value


def required_counts(data: Mapping[str, Any], name: str) -> list[float]:
    """A list of whole counts. Raises Unreadable."""
    found = data.get(name)
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_POSITIONS + 1:
        raise UnreadableStats(f"“{name}” must be a list of 1 to {MAX_POSITIONS + 1} counts.")
    return [required_number({name: value}, name) for value in found]


def object_list(data: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """A list of objects. Raises Unreadable."""
    if not isinstance(data, list) or len(data) > MAX_ROWS:
        raise UnreadableStats(f"“{name}” must be a list of {MAX_ROWS:,} objects at most.")
    if not all(isinstance(row, dict) for row in data):
        raise UnreadableStats(f"“{name}” must be a list of objects.")
    return data


def lookup(data: Any, *names: str) -> Any:
    """What lies at the end of a path of names; None where the path ends before."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def whole_number(value: float | None, called: str) -> int | None:
    """A length as a whole number; None where it was not told or is 0. Raises Unreadable."""
    if not value:
        return None
    if value != int(value) or value > MAX_POSITIONS:
        raise UnreadableStats(
            f"{called} is {value:g}; it must be whole, and {MAX_POSITIONS} at most."
        )
    return int(value)
