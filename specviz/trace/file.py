"""A trace as a file: one JSON object per line, the header first. Unknown events are preserved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from specviz.trace.codec import (
    DIGITS,
    EVENTS,
    OverLimit,
    from_plain,
    parse_json,
    read_lines,
    to_plain,
)
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
# The page's player, imported by name when a trace is first shown, since the page is a higher layer.
REPLAY = "specviz.ui.step.replay"


class TraceError(ValueError):
    """Raised if a trace file cannot be read; the message names the line and the problem."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"Line {line}: {problem}")
        self.line = line


@dataclass(slots=True, repr=False)
class Trace:
    """A header and the events after it. Append events as they happen; read them as rounds."""

    header: Header
    events: list[Event] = field(default_factory=list)

    @property
    def rounds(self) -> list[Round]:
        """The rounds in order; the last may be unfinished."""
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
        """The bytes of every token id in the trace."""
        words: dict[int, bytes] = {}
        for event in self.events:
            if isinstance(event, Vocabulary):
                words |= {int(k): v.encode("latin-1") for k, v in event.tokens.items()}
        return words

    @property
    def finished(self) -> Finished | None:
        """How the run ended; None while it runs or if it was cut off."""
        return next((e for e in self.events if isinstance(e, Finished)), None)

    @property
    def baseline(self) -> Baseline | None:
        """Plain decoding measured after the run; None until it was measured."""
        return next((e for e in self.events if isinstance(e, Baseline)), None)

    def __repr__(self) -> str:
        tokens = sum(len(played.committed.tokens) for played in self.rounds if played.committed)
        end = self.finished.reason if self.finished else "unfinished"
        models = f"{self.header.target.name} with {self.header.drafter.name}"
        return f"<Trace: {models}, {len(self.rounds)} rounds, {tokens} tokens, {end}>"

    def show(self, *, round: int | None = None, step: str | None = None) -> Any:
        """Return a replay of the run, which a notebook shows as the page's player.

        Args:
            round: The round to show first; if None, the first round that has the step.
            step: The step to show first, as in links to the page ("score", "judge-2"), or
                "rejected" for the first rejection. Without round and step, the first guesses are
                shown.

        Raises:
            ValueError: If the run has no such step.
        """
        return import_module(REPLAY).show(self, round, step)

    def _repr_html_(self) -> str | None:
        # None shows plain text, before the first round.
        shown: str | None = self.show()._repr_html_() if self.rounds else None
        return shown

    def lines(self) -> Iterator[str]:
        """Yield the file's lines without line ends."""
        yield dumps(self.header)
        yield from map(dumps, self.events)

    def write(self, path: Path | str) -> None:
        """Write the JSON Lines file."""
        Path(path).write_text("\n".join(self.lines()) + "\n", encoding="utf-8")

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Self:
        """Parse JSON Lines within the limits of `codec`.

        Raises:
            TraceError: If a line is damaged, not part of a trace, or over a limit; names the line.
        """
        numbered = _numbered(lines)
        first = next(((n, line) for n, line in numbered if line.strip()), None)
        if first is None:
            raise TraceError(1, "The file is empty.")
        header = loads(*first)
        if not isinstance(header, Header):
            raise TraceError(first[0], f"A trace starts with its header ({FORMAT}).")
        trace = cls(header)
        for number, line in numbered:
            if line.strip():
                event = loads(number, line)
                if isinstance(event, Header):
                    raise TraceError(number, "This is a second header; a trace holds one run.")
                trace.events.append(event)
        return trace

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file.

        Raises:
            TraceError: If the file is not a valid trace.
            OSError: If the file cannot be opened.
        """
        return cls.parse(read_lines(path))


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if number > EVENTS + 1:
                raise OverLimit(number, f"A trace has at most {EVENTS:,} lines after its first.")
            yield number, line
    except UnicodeDecodeError as error:
        raise TraceError(number + 1, "This is not UTF-8 text, so not a trace.") from error
    except OverLimit as error:
        raise TraceError(error.line, str(error)) from error


def dumps(event: Event) -> str:
    """Return an event as one line of JSON; NaN and infinity raise ValueError."""
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
    """Parse the event on a line.

    Raises:
        TraceError: If the line is not an event.
    """
    try:
        data = parse_json(line)
    except json.JSONDecodeError as error:
        raise TraceError(number, f"This is not complete JSON ({error}).") from error
    except ValueError as error:
        raise TraceError(number, f"This JSON cannot be used: {error}.") from error
    if not isinstance(data, dict):
        raise TraceError(number, "An event must be a JSON object.")
    name = _header(number, data) if "format" in data or number == 1 else data.pop("event", None)
    if not isinstance(name, str):
        raise TraceError(number, "An event needs a name.")
    if name not in EVENT_TYPES:
        return Unknown({"event": name, **data})
    try:
        event: Event = from_plain(EVENT_TYPES[name], data)
        if isinstance(event, Vocabulary):
            _require_bytes(event)
    except (TypeError, ValueError) as error:
        raise TraceError(number, f"This {name!r} event is invalid: {error}.") from error
    return event


def _header(number: int, data: dict[str, Any]) -> str:
    if data.pop("format", None) != FORMAT:
        raise TraceError(number, f"This is not a {FORMAT} file.")
    version = data.pop("version", None)
    if version != VERSION or type(version) is not int:
        problem = f"This is version {version!r:.40} of the format; this program reads {VERSION}."
        raise TraceError(number, problem)
    return Header.event


def _require_bytes(event: Vocabulary) -> None:
    for token, spelling in event.tokens.items():
        figures = token.isascii() and token.removeprefix("-").isdecimal()
        if not (figures and len(token) <= DIGITS):
            raise ValueError(f"{token!r:.40} is not a token id")
        if any(letter > "\xff" for letter in spelling):
            raise ValueError(f"the bytes of token {token:.40} are not latin-1 text")
