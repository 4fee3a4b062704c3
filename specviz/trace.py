"""A run as data: a header and events, one JSON object per line. Causes only; effects are derived.

`accepted`, lengths, ratios and speed-ups are computed from these (see metrics.py), in one place.
p and q belong to a parent and describe its children. Standard library only: a trace plays and
re-checks on a machine with no model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from specviz.codec import build, plain

FORMAT = "specviz-trace"
VERSION = 1

Kind = Literal["recovered", "bonus", "plain"]
Reason = Literal["eos", "limit", "stopped"]


class TraceError(ValueError):
    """A trace file that cannot be read; says the line and what is wrong with it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"Line {line}: {problem}")
        self.line = line


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What the trace remembers of a model. bytes: of its weight files; hash: SHA-256 of them."""

    name: str
    family: str
    parameters: int
    bytes: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: everything that was decided before the first round.

    device: as torch names it. machine: what that is in words, a GPU's name or so many CPU cores.
    """

    event: ClassVar[str] = "header"
    target: ModelCard
    drafter: ModelCard
    settings: dict[str, Any]
    rule: str
    lossless: bool
    prompt: str
    prompt_ids: list[int]
    vocab_size: int
    eos: list[int]
    device: str
    machine: str
    dtype: str
    threads: int
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The bytes of token ids, each before its first use: id -> bytes written as latin-1 text."""

    event: ClassVar[str] = "vocabulary"
    tokens: dict[str, str]


@dataclass(frozen=True, slots=True)
class Interval:
    """A drawn token: u fell in [lo, hi) when the law was walked by falling probability, then id."""

    u: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Rows:
    """The laws p and q at one place, summed honestly.

    tokens: the union of the top few of p, of q and of the residual, and the token concerned, by
    falling p. q is None where candidates are a point mass: what is there instead is the candidate.
    soft: the target's softmax at temperature 1, kept where the temperature is 0. rest_*: what all
    tokens not listed hold together (rest_both = Σ min(p, q), compared one by one, then summed).
    overlap: Σ min(p, q) over the full vocabulary; for a point mass, p of the candidate.
    residual: Σ max(p − q, 0) over the full vocabulary, before scaling to 1.
    """

    tokens: list[int]
    p: list[float]
    q: list[float] | None
    soft: list[float] | None
    rest_tokens: int
    rest_p: float
    rest_q: float
    rest_both: float
    rest_residual: float
    rest_soft: float
    overlap: float
    residual: float


@dataclass(frozen=True, slots=True)
class Guess:
    """One node of the draft tree, numbered from 1 in the order of the list; its parent is earlier.

    u: the coin that judges it, whether or not it is ever reached. drawn: how it was drawn from q,
    None for a point mass. q: its probability under the law it was drawn from, None for a point
    mass. score: the drafter's confidence, never used in a verdict. evidence: why this guess.
    """

    token: int
    parent: int
    u: float
    q: float | None
    drawn: Interval | None
    score: float | None
    evidence: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Proposed:
    """The drafter guessed. drawn: how siblings were drawn; remark: evidence about the whole try."""

    event: ClassVar[str] = "proposed"
    round: int
    root: int
    drawn: Literal["sampled", "without-replacement", "point-mass"]
    guesses: list[Guess]
    remark: dict[str, Any] | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Scored:
    """One target pass over the tree. p: by guess, its probability under its parent's law.

    top: by node (0 is the root), the three likeliest next tokens as [token, p].
    rows_in_pass: how many tokens the pass computed (riders included). soft: by guess, the softmax
    at temperature 1, kept where the temperature is 0: there p itself is already the verdict.
    """

    event: ClassVar[str] = "scored"
    round: int
    p: list[float]
    top: list[list[list[float]]]
    rows_in_pass: int
    seconds: float
    soft: list[float] | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One coin fell: the guess at `node` was kept if u < threshold. rows: the law then in force.

    alpha: at the first candidate of a position, the chance that one of its candidates is kept,
    computed over the full vocabulary before any coin fell; None at later siblings.
    """

    event: ClassVar[str] = "judged"
    round: int
    node: int
    u: float
    threshold: float
    inputs: dict[str, float]
    rows: Rows
    alpha: float | None

    @property
    def accepted(self) -> bool:
        """Whether the coin fell on the side of keeping."""
        return self.u < self.threshold


@dataclass(frozen=True, slots=True)
class Drew:
    """The token that ends a round, from the law (tokens, p; `rest_p` for all others) at `parent`.

    at_p, at_q: the token's p and q in the last judged law, for the table under a rejection; None
    where nothing was rejected.
    """

    event: ClassVar[str] = "drew"
    round: int
    parent: int
    token: int
    kind: Kind
    drawn: Interval
    tokens: list[int]
    p: list[float]
    soft: list[float] | None
    rest_p: float
    rest_tokens: int
    at_p: float | None
    at_q: float | None


@dataclass(frozen=True, slots=True)
class Committed:
    """The round is over: `tokens` were added. Seconds of judging, and of keeping the caches."""

    event: ClassVar[str] = "committed"
    round: int
    tokens: list[int]
    judge_seconds: float
    commit_seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The speculative run is over. trace_seconds: what the recording itself cost, in none above."""

    event: ClassVar[str] = "finished"
    reason: Reason
    trace_seconds: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """Plain decoding, measured after the run: same machine, prompt and settings.

    seconds: by pass, the first is the prefill. margins: by pass, the target's top logit minus the
    second, kept at temperature 0 only.
    """

    event: ClassVar[str] = "baseline"
    token_ids: list[int]
    seconds: list[float]
    margins: list[float] | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event of a later version, kept whole."""

    raw: dict[str, Any]


Event = (
    Header
    | Vocabulary
    | Proposed
    | Scored
    | Judged
    | Drew
    | Committed
    | Finished
    | Baseline
    | Unknown
)
KNOWN: Mapping[str, type] = {
    cls.event: cls
    for cls in (Header, Vocabulary, Proposed, Scored, Judged, Drew, Committed, Finished, Baseline)
}


@dataclass(slots=True)
class Round:
    """The events of one round, as far as they are known. Round 0 is the prefill."""

    number: int
    proposed: Proposed | None = None
    scored: Scored | None = None
    judged: list[Judged] = field(default_factory=list)
    drew: Drew | None = None
    committed: Committed | None = None


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
        """Read JSON Lines. Raises TraceError naming the line of what is damaged or foreign."""
        numbered = enumerate(lines, 1)
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
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise TraceError(line, "this is not UTF-8 text, so not a trace.") from error
        return cls.parse(text.split("\n"))


def dumps(event: Event) -> str:
    """One event as a line of JSON. NaN and infinity are refused."""
    if isinstance(event, Unknown):
        return json.dumps(event.raw, allow_nan=False, separators=(",", ":"))
    data = plain(event)
    head: dict[str, Any] = (
        {"format": FORMAT, "version": VERSION}
        if isinstance(event, Header)
        else {"event": event.event}
    )
    return json.dumps(head | data, allow_nan=False, separators=(",", ":"))


def loads(number: int, line: str) -> Event:
    """The event on a line. Raises TraceError(number, ...) where it is damaged or foreign."""
    try:
        data = json.loads(line, parse_constant=_refuse)
    except ValueError as error:
        raise TraceError(number, f"this is not whole JSON ({error}).") from error
    if not isinstance(data, dict):
        raise TraceError(number, "an event is a JSON object.")
    name = _header(number, data) if "format" in data or number == 1 else data.pop("event", None)
    if not isinstance(name, str):
        raise TraceError(number, "an event needs a name.")
    if name not in KNOWN:
        return Unknown({"event": name, **data})
    try:
        event: Event = build(KNOWN[name], data)
    except (TypeError, ValueError) as error:
        raise TraceError(number, f"a broken {name!r} event: {error}.") from error
    return event


def _header(number: int, data: dict[str, Any]) -> str:
    """Take the format's name and version off a header's data, and check them."""
    if data.pop("format", None) != FORMAT:
        raise TraceError(number, f"this is not a {FORMAT} file.")
    version = data.pop("version", None)
    if version != VERSION:
        raise TraceError(number, f"version {version!r}; this program reads {VERSION}.")
    return Header.event


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")
