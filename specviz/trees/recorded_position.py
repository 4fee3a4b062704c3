"""What a drafter says after every path that some tree asked about, and what the target says there.

A field is all that growing a tree takes, so trees of many settings can be grown on one again and
again, on a machine with no model. Rule: it holds what was computed, digit for digit, and a growth
that asks for more stops there and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Final, Self

from specviz.shipped import ASSETS, of_shipped, of_text, text_of
from specviz.trace.codec import from_plain

if TYPE_CHECKING:
    pass

Path = tuple[int, ...]  # tokens from the one after the root on
KIND: Final = {"format": "specviz-field", "version": 1}


class PositionError(ValueError):
    """A file that holds no field; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Row:
    """One place. tokens: the drafter's likeliest, falling. logs: their log-probabilities, float32.

    p: the target's chance of each at temperature 1, over its whole vocabulary. top, top_p: the
    target's likeliest token there, which is what it says at temperature 0.
    """

    tokens: list[int]
    logs: list[float]
    p: list[float]
    top: int
    top_p: float


@dataclass(frozen=True, slots=True)
class RecordedPosition:
    """One position of one text. rows: by path of tokens after the root.

    context: the text's last tokens, the root the last of them. length: tokens before the root.
    width: guesses asked for at every place. deepest: levels of guesses at most. spelling: the
    bytes of every token shown, as latin-1 text. vocabulary: how many tokens the target has.
    draft_seconds: of the drafter's passes by level; verify_seconds: of one target pass over all of
    it, as they came. exhibit: by node of the tree of `exhibit.SIZE` with its parents off by one,
    the target's p of its token; empty where nobody asked for it.
    """

    target: str
    drafter: str
    title: str
    prompt: str
    context: list[int]
    length: int
    eos: list[int]
    vocabulary: int
    width: int
    deepest: int
    spelling: dict[str, str]
    machine: str
    dtype: str
    versions: dict[str, str]
    draft_seconds: list[float]
    verify_seconds: float
    rows: Mapping[Path, Row]
    exhibit: list[float] = field(default_factory=list)

    def titled(self, title: str) -> RecordedPosition:
        """The same under another title."""
        return replace(self, title=title)

    @property
    def root(self) -> int:
        """The newest token: the trees' node 0."""
        return self.context[-1]

    def spelled(self, token: int) -> bytes:
        """A token's bytes."""
        return self.spelling.get(str(token), "").encode("latin-1")

    def to_text(self) -> str:
        """For a file: a place a line."""
        head = KIND | {name: getattr(self, name) for name in HEAD}
        lines = [json.dumps(head, ensure_ascii=False, separators=(",", ":"))]
        for path, row in self.rows.items():
            line = {"path": list(path)} | asdict(row)
            line["logs"] = [float(f"{value:.9g}") for value in row.logs]
            line["p"] = [float(f"{value:.6g}") for value in row.p]
            line["top_p"] = float(f"{row.top_p:.6g}")
            lines.append(json.dumps(line, separators=(",", ":")))
        return "\n".join(lines) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `to_text` wrote. Raises FieldError."""
        try:
            head, *lines = [json.loads(line) for line in text.rstrip("\n").split("\n")]
            if {key: head.pop(key, None) for key in KIND} != KIND:
                raise PositionError("This is no field of this version.")
            rows = {tuple(line.pop("path")): from_plain(Row, line) for line in lines}
            return cls(**head, rows=check_rows(rows))
        except PositionError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError) as problem:
            raise PositionError("This file holds no field of draft trees.") from problem

    @classmethod
    def read(cls, file: File) -> Self:
        """A field from its file. Raises OSError, FieldError."""
        return cls.from_text(file.read_text(encoding="utf-8"))


def is_position_file(text: str) -> bool:
    """Whether a text begins as `Field.to_text` does."""
    return text.startswith(json.dumps(KIND, separators=(",", ":"))[:-1])


HEAD: Final = tuple(name for name in RecordedPosition.__dataclass_fields__ if name != "rows")


def check_rows(rows: Mapping[Path, Row]) -> Mapping[Path, Row]:
    """Rows that trees can grow on. Raises FieldError."""
    for path, row in rows.items():
        sizes = {len(row.tokens), len(row.logs), len(row.p)}
        if len(sizes) != 1 or not all(log <= 0.0 for log in row.logs):
            raise PositionError(f"The place {list(path)} has no whole row of guesses.")
    if () not in rows:
        raise PositionError("A field has a row at its root.")
    return rows


def round_seconds(seconds: Sequence[float]) -> list[float]:
    """Seconds to a tenth of a microsecond."""
    return [round(value, 7) for value in seconds]


def origin(field: RecordedPosition) -> dict[str, Any]:
    """What a reader is told of where a field comes from."""
    return {name: getattr(field, name) for name in ("target", "drafter", "title", "machine")}


FOLDER: Final = ASSETS / "trees"
LEVELS: Final = 7  # of guesses, in a recorded position
WIDEST: Final = 10  # guesses under a place there
MOST: Final = 128


@dataclass(frozen=True, slots=True)
class Recipe:
    """One position. prompt: a domain and a place in it, or a text. skip: tokens into the answer."""

    name: str
    title: str
    prompt: tuple[str, int] | str
    drafter: str
    skip: int
    seed: int = 1

    @property
    def text(self) -> str:
        """The prompt."""
        return text_of(self.prompt)


@cache
def recipes(folder: File = FOLDER) -> tuple[Recipe, ...]:
    """The positions that ship, in the order shown. Raises BrokenFile."""
    return of_shipped(folder / "recipes.json", lambda rows: tuple(Recipe(**row) for row in rows))


@cache
def shipped_position(name: str) -> RecordedPosition:
    """A recorded position. Raises BrokenFile."""
    return of_text(FOLDER / f"{name}.jsonl", RecordedPosition.from_text)
