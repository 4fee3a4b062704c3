"""A recorded position of a text: the predictions of drafter and target after every needed path.

Trees of many sizes can be grown from it without models. If a tree needs a path that was not
recorded, it does not grow further there and reports this. Log-probabilities are stored with all
digits of float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path as File
from typing import Final, Self

from specviz.shipped import ASSETS, read_shipped_json, read_shipped_text, text_of
from specviz.trace.codec import from_plain

Path = tuple[int, ...]  # tokens after the root
KIND: Final = {"format": "specviz-field", "version": 1}


class PositionError(ValueError):
    """Raised if a file does not contain a valid position; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Row:
    """The predictions after one path.

    Attributes:
        tokens: The drafter's most probable tokens, in descending order.
        logs: The drafter's log-probabilities of these tokens, float32.
        p: The target's probability of each of them at temperature 1.
        top: The target's most probable token, which it selects at temperature 0.
        top_p: The target's probability of `top`.
    """

    tokens: list[int]
    logs: list[float]
    p: list[float]
    top: int
    top_p: float


@dataclass(frozen=True, slots=True)
class RecordedPosition:
    """One position of one text.

    Attributes:
        drafter: Name of the drafter.
        context: The last tokens of the text; the root is the last of them.
        length: Number of tokens before the root.
        width: Guesses recorded after each path.
        deepest: Number of levels of guesses that were recorded.
        token_texts: Bytes of every displayed token, as latin-1 text.
        draft_seconds: Seconds of the drafter's pass for each level.
        verify_seconds: Seconds of one target pass over all paths.
        rows: Predictions after each path of tokens from the root.
        p_off_by_one: The target's probability of each node's token if the parents are off
            by one, in a tree of `judging.SIZE`; empty if not recorded.
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
    token_texts: dict[str, str]
    machine: str
    dtype: str
    versions: dict[str, str]
    draft_seconds: list[float]
    verify_seconds: float
    rows: Mapping[Path, Row]
    p_off_by_one: list[float] = field(default_factory=list)

    @property
    def root(self) -> int:
        """The newest token: node 0 of the trees."""
        return self.context[-1]

    def token_bytes(self, token: int) -> bytes:
        """Return a token's bytes."""
        return self.token_texts.get(str(token), "").encode("latin-1")

    def to_text(self) -> str:
        """Return the text of a file: a header, then one line per path."""
        head = KIND | {key: getattr(self, name) for name, key in FILE_KEYS.items()}
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
        """Parse the text of `to_text`. Raises PositionError if the text is not a valid position."""
        try:
            head, *lines = [json.loads(line) for line in text.rstrip("\n").split("\n")]
            if {key: head.pop(key, None) for key in KIND} != KIND:
                raise PositionError("This is not a position of this version.")
            rows = {tuple(line.pop("path")): from_plain(Row, line) for line in lines}
            fields = {name: head.pop(key) for name, key in FILE_KEYS.items() if key in head}
            return cls(**fields, **head, rows=check_rows(rows))
        except PositionError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError) as problem:
            raise PositionError("This file is not a position for draft trees.") from problem

    @classmethod
    def read(cls, file: File) -> Self:
        """Read a file.

        Raises OSError if the file cannot be read; PositionError if it is not a valid position.
        """
        return cls.from_text(file.read_text(encoding="utf-8-sig"))


def is_position_file(text: str) -> bool:
    """Return whether a text begins like a file of a recorded position."""
    return text.startswith(json.dumps(KIND, separators=(",", ":"))[:-1])


# Two fields have other names in files.
FILE_KEYS: Final = {
    name: {"token_texts": "spelling", "p_off_by_one": "exhibit"}.get(name, name)
    for name in RecordedPosition.__dataclass_fields__
    if name != "rows"
}


def check_rows(rows: Mapping[Path, Row]) -> Mapping[Path, Row]:
    """Return the rows if trees can be grown from them. Raises PositionError if not."""
    for path, row in rows.items():
        sizes = {len(row.tokens), len(row.logs), len(row.p)}
        if len(sizes) != 1 or not all(log <= 0.0 for log in row.logs):
            raise PositionError(f"The path {list(path)} has an incomplete row of guesses.")
    if () not in rows:
        raise PositionError("A position needs a row at its root.")
    return rows


def round_seconds(seconds: Sequence[float]) -> list[float]:
    """Round seconds to a tenth of a microsecond."""
    return [round(value, 7) for value in seconds]


FOLDER: Final = ASSETS / "trees"
LEVELS: Final = 7  # maximum levels of guesses in a recorded position
WIDEST: Final = 10  # number of guesses after each path
MOST: Final = 128


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to record a position that ships with the package.

    Attributes:
        prompt: A domain and an index in it, or a text.
        drafter: Name of the drafter.
        skip: Number of tokens of the answer before the position.
    """

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
    """Return the recipes of the shipped positions, in the order shown.

    Raises BrokenFile if the list is damaged.
    """
    return read_shipped_json(
        folder / "recipes.json", lambda rows: tuple(Recipe(**row) for row in rows)
    )


@cache
def shipped_position(name: str) -> RecordedPosition:
    """Read a shipped position. Raises BrokenFile if it is damaged."""
    return read_shipped_text(FOLDER / f"{name}.jsonl", RecordedPosition.from_text)
