"""A trace as a file: one JSON object a line, the first says what it is. Unknown events survive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from specviz.trace.bounded import DIGITS, EVENTS, OverLimit, parse_json, read_lines
from specviz.trace.codec import from_plain, to_plain
from specviz.trace.events import (
    EVENT_TYPES,
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Header,
    Judged,
    Proposed,
    Round,
    Scored,
    Unknown,
    Vocabulary,
)

FORMAT = "specviz-trace"
VERSION = 1


class TraceError(ValueError):
    """A trace file that cannot be read; says the line and what is wrong with it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"Line {line}: {problem}")
        self.line = line


@dataclass(slots=True)
class Trace:
    """A header and what followed. Append events as they come; read them as rounds."""

    header: Header
    events: list[Event] = field(default_factory=list)

    @property
    def rounds(self) -> list[Round]:
        """Rounds in order, the last one perhaps unfinished."""
        found: list[Round] = []
        for event in self.events:
            if not isinstance(event, Proposed | Scored | Judged | Drew | Committed):
                continue
            if not found or found[-1].number != event.round:
                found.append(Round(event.round))
            last = found[-1]
            if isinstance(event, Judged):
                last.judged.append(event)
            else:
                setattr(last, event.event, event)
        return found

    @property
    def vocabulary(self) -> dict[int, bytes]:
        """The bytes of every token id that the trace shows."""
        words: dict[int, bytes] = {}
        for event in self.events:
            if isinstance(event, Vocabulary):
                words |= {int(k): v.encode("latin-1") for k, v in event.tokens.items()}
        return words

    @property
    def finished(self) -> Finished | None:
        """How the run ended; None while it runs or where it broke off."""
        return next((e for e in self.events if isinstance(e, Finished)), None)

    @property
    def baseline(self) -> Baseline | None:
        """Plain decoding as measured after the run; None until it was."""
        return next((e for e in self.events if isinstance(e, Baseline)), None)

    def lines(self) -> Iterator[str]:
        """The file, a line at a time, without line ends."""
        yield dumps(self.header)
        yield from map(dumps, self.events)

    def write(self, path: Path | str) -> None:
        """Write the JSON Lines file."""
        Path(path).write_text("\n".join(self.lines()) + "\n", encoding="utf-8")

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Self:
        """Read JSON Lines, within the limits of `bounded`.

        Raises TraceError naming the line of what is damaged, foreign or too much.
        """
        numbered = _numbered(lines)
        first = next(((n, line) for n, line in numbered if line.strip()), None)
        if first is None:
            raise TraceError(1, "the file is empty.")
        header = loads(*first)
        if not isinstance(header, Header):
            raise TraceError(first[0], f"a trace starts with its header ({FORMAT}).")
        trace = cls(header)
        for number, line in numbered:
            if line.strip():
                event = loads(number, line)
                if isinstance(event, Header):
                    raise TraceError(number, "a second header; a trace holds one run.")
                trace.events.append(event)
        return trace

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file. Raises TraceError, or OSError where there is no such file."""
        return cls.parse(read_lines(path))


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1. Raises TraceError for lines that cannot be read."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if number > EVENTS + 1:
                raise OverLimit(number, f"a trace has at most {EVENTS:,} lines after its first.")
            yield number, line
    except UnicodeDecodeError as error:
        raise TraceError(number + 1, "this is not UTF-8 text, so not a trace.") from error
    except OverLimit as error:
        raise TraceError(error.line, str(error)) from error


def dumps(event: Event) -> str:
    """One event as a line of JSON. NaN and infinity are refused."""
    if isinstance(event, Unknown):
        return json.dumps(event.raw, allow_nan=False, separators=(",", ":"))
    data = to_plain(event)
    head: dict[str, Any] = (
        {"format": FORMAT, "version": VERSION}
        if isinstance(event, Header)
        else {"event": event.event}
    )
    return json.dumps(head | data, allow_nan=False, separators=(",", ":"))


def loads(number: int, line: str) -> Event:
    """The event on a line. Raises TraceError(number, ...) where it is damaged or foreign."""
    try:
        data = parse_json(line)
    except json.JSONDecodeError as error:
        raise TraceError(number, f"this is not whole JSON ({error}).") from error
    except ValueError as error:
        raise TraceError(number, f"this JSON cannot be used: {error}.") from error
    if not isinstance(data, dict):
        raise TraceError(number, "an event is a JSON object.")
    name = _header(number, data) if "format" in data or number == 1 else data.pop("event", None)
    if not isinstance(name, str):
        raise TraceError(number, "an event needs a name.")
    if name not in EVENT_TYPES:
        return Unknown({"event": name, **data})
    try:
        event: Event = from_plain(EVENT_TYPES[name], data)
        if isinstance(event, Vocabulary):
            _require_bytes(event)
    except (TypeError, ValueError) as error:
        raise TraceError(number, f"a broken {name!r} event: {error}.") from error
    return event


def _header(number: int, data: dict[str, Any]) -> str:
    """Take the format's name and version off a header's data, and check them."""
    if data.pop("format", None) != FORMAT:
        raise TraceError(number, f"this is not a {FORMAT} file.")
    version = data.pop("version", None)
    if version != VERSION:
        raise TraceError(number, f"version {version!r:.40}; this program reads {VERSION}.")
    return Header.event


def _require_bytes(event: Vocabulary) -> None:
    """Raise ValueError unless every key is a token id and every spelling can be bytes."""
    for token, spelling in event.tokens.items():
        figures = token.isascii() and token.removeprefix("-").isdecimal()
        if not (figures and len(token) <= DIGITS):
            raise ValueError(f"{token!r:.40} is no token id")
        if any(letter > "\xff" for letter in spelling):
            raise ValueError(f"the spelling of token {token:.40} is not bytes as latin-1")
