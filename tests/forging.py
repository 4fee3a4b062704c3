"""Runs with one false value: take a trace, change it, and check that it is refused.

A change is a function that alters a trace's lines in place: the header, then the events, as JSON
objects. A forgery is (trace, change, words): the shipped trace to start from, the change, and a
part of the error message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
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
    whole = (
        lines_of(trace)
        if isinstance(trace, str)
        else [json.dumps(json.loads(line)) for line in trace.lines()]
    )
    lines = forged(whole, change)
    assert lines != whole
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
    """Return the first event of a kind for which `having` is true, a draft with guesses if any.

    event: a kind of event, or "header".
    """
    if event == "header":
        return lines[0]
    found = [line for line in events(lines, event) if having(line)]
    return next((line for line in found if line.get("guesses")), found[0])


def unreached(lines: list[Line]) -> Iterator[tuple[int, Line, Line]]:
    """Yield the node of each guess without a verdict, the guess, and its round's pass."""
    for line in events(lines, "proposed"):
        of_round = [d for d in lines if d.get("round") == line["round"]]
        judged = {d["node"] for d in of_round if d["event"] == "judged"}
        scored = next(d for d in of_round if d["event"] == "scored")
        for node, each in enumerate(line["guesses"], 1):
            if node not in judged:
                yield node, each, scored


# Changes. Each value is a value or a function of the old one.


def at_keys(found: Any, keys: tuple[Any, ...]) -> Any:
    """Return a nested value."""
    return at_keys(found[keys[0]], keys[1:]) if keys else found


def put(event: str, *keys: Any, **values: Any) -> Change:
    """Change values of the first event of a kind, or of an object inside it."""

    def change(lines: list[Line]) -> None:
        at = at_keys(first(lines, event), keys)
        for name, value in values.items():
            at[name] = value(at[name]) if callable(value) else value

    return change


header = partial(put, "header")
setting = partial(put, "header", "settings")
sampling = partial(put, "header", "settings", "sampling")


def inside(event: str, *keys: Any, value: Any, having: Callable[[Line], Any] = bool) -> Change:
    """Change one nested value of the first event of a kind, which may be in a list."""

    def change(lines: list[Line]) -> None:
        at = at_keys(first(lines, event, having), keys[:-1])
        at[keys[-1]] = value(at[keys[-1]]) if callable(value) else value

    return change


def guess(at: int, value: Any, *keys: Any) -> Change:
    """Change a value in a guess of the first draft."""
    return inside("proposed", "guesses", at, *keys, value=value)


def cut(event: str, *keys: Any, at: Any = -1) -> Change:
    """Remove a value of the first event of a kind: an entry of a list or an object inside it."""
    return lambda lines: at_keys(first(lines, event), keys).pop(at)


def both(*changes: Change) -> Change:
    """Make several changes."""
    return lambda lines: [change(lines) for change in changes]


def plus(more: float) -> Callable[[float], float]:
    """Return a function that adds a number to the old value."""
    return lambda old: old + more


def move(lines: list[Line], line: Line, to: int) -> None:
    """Move a line to another position."""
    lines.remove(line)
    lines.insert(to, line)
