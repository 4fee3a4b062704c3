"""Recorded runs with one false value: read a trace, change it, and check that it is refused.

A forgery is (trace, change, words): the shipped trace to start from, a function that changes its
lines in place (the header, then the events, as JSON objects), and a part of the error message.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from specviz.shipped import ASSETS
from specviz.trace.check import CheckFailed, check
from specviz.trace.file import Trace, TraceError

Line = dict[str, Any]
Change = Callable[[list[Line]], object]
Forgery = tuple[str, Change, str]
HUGE = 10**30


@cache
def recorded(name: str) -> list[Line]:
    """Return a shipped trace's lines as objects, which callers must not change."""
    (path,) = (ASSETS / "traces").glob(f"{name}-*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def forged(name: str, change: Change) -> list[str]:
    """Return the lines of a shipped trace after a change."""
    lines = copy.deepcopy(recorded(name))
    change(lines)
    return list(map(json.dumps, lines))


def refused(forgery: Forgery) -> None:
    """Assert that the change alters the trace and that `check` refuses it with this message."""
    name, change, says = forgery
    lines = forged(name, change)
    assert lines != list(map(json.dumps, recorded(name)))
    with pytest.raises((CheckFailed, TraceError), match=says):
        check(Trace.parse(lines))


def events(lines: list[Line], event: str) -> list[Line]:
    """Return the events of a kind after the prefill's; all of them if there are no later ones."""
    found = [line for line in lines if line.get("event") == event]
    return [line for line in found if line.get("round") != 0] or found


def first(lines: list[Line], event: str, having: Callable[[Line], Any] = bool) -> Line:
    """Return the first event of a kind for which `having` is true."""
    return next(line for line in events(lines, event) if having(line))


def setting(**values: Any) -> Change:
    """Change settings."""
    return lambda lines: lines[0]["settings"].update(values)


def sampling(**values: Any) -> Change:
    """Change temperature, top-k or top-p."""
    return lambda lines: lines[0]["settings"]["sampling"].update(values)


def header(**values: Any) -> Change:
    """Change the header."""
    return lambda lines: lines[0].update(values)


def put(event: str, **values: Any) -> Change:
    """Change values of the first event of a kind."""
    return lambda lines: first(lines, event).update(values)


def inside(event: str, *keys: Any, value: Any, having: Callable[[Line], Any] = bool) -> Change:
    """Change a nested value of the first event of a kind, to a value or by a function."""

    def change(lines: list[Line]) -> None:
        at: Any = first(lines, event, having)
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value(at[keys[-1]]) if callable(value) else value

    return change


def move(lines: list[Line], line: Line, to: int) -> None:
    """Move a line to another position."""
    lines.remove(line)
    lines.insert(to, line)
