"""Runs with one false value: take a trace, change it, and check that it is refused.

A change is a function that alters a trace's lines in place: the header, then the events, as JSON
objects. A forgery is (trace, change, words): the shipped trace to start from, the change, and a
part of the error message.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import tiny

from specviz.engine.decode import run
from specviz.shipped import ASSETS
from specviz.trace.check import CheckFailed, check
from specviz.trace.events import Event
from specviz.trace.file import Trace, TraceError

Line = dict[str, Any]
Change = Callable[[list[Line]], object]
Forgery = tuple[str, Change, str]
HUGE = 10**30


@cache
def recorded(name: str) -> list[Line]:
    """Return a shipped trace's lines as objects, which callers must not change."""
    return list(map(json.loads, lines_of(name)))


@cache
def lines_of(name: str) -> list[str]:
    """Return a shipped trace's lines, which callers must not change."""
    (path,) = (ASSETS / "traces").glob(f"{name}-*.jsonl")
    return [json.dumps(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def forged(whole: list[str], change: Change) -> list[str]:
    """Return the lines of a trace after a change."""
    lines = list(map(json.loads, whole))
    change(lines)
    return list(map(json.dumps, lines))


def refused(trace: str | Trace, change: Change, says: str) -> None:
    """Assert that the change alters the trace and that `check` refuses it with this message."""
    whole = lines_of(trace) if isinstance(trace, str) else list(trace.lines())
    lines = forged(whole, change)
    assert list(map(json.loads, lines)) != list(map(json.loads, whole))
    with pytest.raises((CheckFailed, TraceError), match=says):
        check(Trace.parse(lines))


def traced(target: Any, drafter: Any, settings: Any, **options: Any) -> Trace:
    """Return a live run on the usual prompt. options: those of `run`."""
    header, *found = run(target, drafter, tiny.PROMPT, settings, **options)
    return Trace(header, found)


def edited(trace: Trace, old: Event, new: Event) -> Trace:
    """Return the trace with one event replaced."""
    return Trace(trace.header, [new if event is old else event for event in trace.events])


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


def put(event: str, *keys: Any, **values: Any) -> Change:
    """Change values of the first event of a kind, or of an object inside it."""

    def change(lines: list[Line]) -> None:
        at: Any = first(lines, event)
        for key in keys:
            at = at[key]
        at.update(values)

    return change


def inside(event: str, *keys: Any, value: Any, having: Callable[[Line], Any] = bool) -> Change:
    """Change a nested value of the first event of a kind, to a value or by a function."""

    def change(lines: list[Line]) -> None:
        at: Any = first(lines, event, having)
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value(at[keys[-1]]) if callable(value) else value

    return change


def cut(event: str, *keys: Any, at: Any = -1) -> Change:
    """Remove a value of the first event of a kind: an entry of a list or an object inside it."""

    def change(lines: list[Line]) -> None:
        found: Any = first(lines, event)
        for key in keys:
            found = found[key]
        found.pop(at)

    return change


def guess(at: int, value: Any, *keys: Any) -> Change:
    """Change a value in a guess of the first draft that has guesses."""
    return inside("proposed", "guesses", at, *keys, value=value, having=lambda d: d["guesses"])


def move(lines: list[Line], line: Line, to: int) -> None:
    """Move a line to another position."""
    lines.remove(line)
    lines.insert(to, line)
