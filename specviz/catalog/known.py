"""The catalogue as data: which targets and drafters ship with the app or need no weights.

Rule: what can be known without loading a model is here. Standard library only.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from specviz.assets import ASSETS
from specviz.catalog.files import size_of, weight_files

Kind = Literal["target", "drafter"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue.

    folder: of the weights, under `assets`; None where there are none. made_for: the target that a
    drafter was made for; None fits any.
    """

    name: str
    kind: Kind
    family: str
    layout: str
    licence: str
    folder: str | None
    made_for: str | None
    about: str

    @property
    def path(self) -> Path | None:
        """Where the weights are, or would be."""
        return None if self.folder is None else ASSETS / self.folder


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry: targets first, then drafters."""
    rows = json.loads((ASSETS / "catalog.json").read_text(encoding="utf-8"))
    return tuple(Entry(**row) for row in rows)


def find(name: str, kind: Kind) -> Entry | None:
    """The entry called `name`; None where the catalogue has none."""
    return next((e for e in entries() if e.name == name and e.kind == kind), None)


def listing() -> list[dict[str, Any]]:
    """The catalogue as rows: an entry's fields, bytes (of weight files) and on_this_machine."""
    return [_row(entry) for entry in entries()]


def _row(entry: Entry) -> dict[str, Any]:
    files = [] if entry.path is None else weight_files(entry.path)
    size = size_of(files) if files or entry.path is None else None
    return asdict(entry) | {"bytes": size, "on_this_machine": size is not None}
