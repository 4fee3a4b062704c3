"""Read numbers and lists from untrusted JSON by name, with a readable error for bad values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from specviz.cost.server.stats import MAX_NUMBER, MAX_POSITIONS, UnreadableStats

MAX_ROWS: Final = 5_000  # of a list


def parse_json(text: str) -> Any:
    """Parse JSON text. Raises UnreadableStats with a sentence."""
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as problem:
        raise UnreadableStats("This is not valid JSON, or it is incomplete.") from problem


def _refused(name: str) -> float:
    raise ValueError(name)


def optional_number(data: Mapping[str, Any], name: str) -> float | None:
    """Return a count or an average; None if it is missing. Raises UnreadableStats."""
    value = data.get(name)
    if value is None:
        return None
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not (isfinite(value) and 0 <= value <= MAX_NUMBER):
        raise UnreadableStats(f"“{name}” must be a number of at least 0.")
    return float(value)


def required_number(data: Mapping[str, Any], name: str) -> float:
    """Return a count or an average. Raises UnreadableStats, also if it is missing."""
    value = optional_number(data, name)
    if value is None:
        raise UnreadableStats(f"“{name}” is missing.")
    return value


def required_counts(data: Mapping[str, Any], name: str) -> list[float]:
    """Return a list of counts. Raises UnreadableStats."""
    found = data.get(name)
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_POSITIONS + 1:
        raise UnreadableStats(f"“{name}” must be a list of 1 to {MAX_POSITIONS + 1} counts.")
    return [required_number({name: value}, name) for value in found]


def object_list(data: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Return a list of objects. Raises UnreadableStats."""
    if not isinstance(data, list) or len(data) > MAX_ROWS:
        raise UnreadableStats(f"“{name}” must be a list of at most {MAX_ROWS:,} objects.")
    if not all(isinstance(row, dict) for row in data):
        raise UnreadableStats(f"“{name}” must be a list of objects.")
    return data


def lookup(data: Any, *names: str) -> Any:
    """Follow a path of names through nested objects; None if it ends early."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def whole_number(value: float | None, called: str) -> int | None:
    """Convert a length to an integer; None if it is missing or 0. Raises UnreadableStats."""
    if not value:
        return None
    if value != int(value) or value > MAX_POSITIONS:
        raise UnreadableStats(
            f"{called} is {value:g}; it must be an integer of at most {MAX_POSITIONS}."
        )
    return int(value)
