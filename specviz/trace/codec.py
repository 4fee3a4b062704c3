"""Dataclasses to plain JSON data and back, with every field checked on the way in.

Data from a file is checked against the type of each field, and the error names the field. A field
may be missing if its default is None. Standard library only.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal


def to_plain(value: Any) -> Any:
    """Convert a dataclass to plain JSON data.

    A field whose default is None is left out while it is None, so that older files stay as they
    are. Lists of numbers are not copied.
    """
    if is_dataclass(value):
        pairs = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: to_plain(v) for f, v in pairs if v is not None or f.default is not None}
    if isinstance(value, list):
        return [to_plain(v) for v in value] if value and not isinstance(value[0], float) else value
    return value


def from_plain(cls: type, data: Any) -> Any:
    """Build a dataclass from plain data; a field may be missing if its default is None.

    Raises:
        ValueError: If a field is missing or unknown.
        TypeError: If a value has the wrong type; the message names the field.
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
    """Convert `value` to the type `hint`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:  # X | None, the only union used
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
    """Return whether a plain value has a plain type; a bool is not a number."""
    if hint is Any:
        return True
    if origin is Literal:
        return value in args
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float)
    return origin is None and isinstance(value, hint)
