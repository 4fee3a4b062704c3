"""The catalogue as data: which targets and drafters ship with the app or need no weights.

Rule: what can be known without loading a model is here. Standard library only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from specviz.models.files import size_of, weight_files
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import ASSETS

Kind = Literal["target", "drafter"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue.

    title: what people call it. folder: of the weights, under `assets`; None where there are none.
    made_for: the target that a drafter was made for; None fits any. reads: the fields of Settings
    that change what a drafter guesses. usual: what suits it better than their defaults. how, knows,
    costs: a drafter in three sentences: how it drafts, what it knows when it guesses, what it
    costs.
    """

    name: str
    kind: Kind
    title: str
    family: str
    layout: str
    licence: str
    folder: str | None
    made_for: str | None
    reads: list[str]
    usual: dict[str, Any]
    about: str
    how: str
    knows: str
    costs: str

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


def title_of(name: str) -> str:
    """What people call a model of the catalogue; its own name where the catalogue lacks it."""
    return next((entry.title for entry in entries() if entry.name == name), name)


def reads_of(drafter: str) -> list[str] | None:
    """The fields of Settings that this drafter heeds; None where the catalogue lacks it."""
    entry = find(drafter, "drafter")
    return None if entry is None else entry.reads


def filled(drafter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings as plain data: those given, else the drafter's usual ones, else the defaults.

    given: as `Settings.to_json` writes them, as far as they are said; nothing is checked here.
    """
    entry = find(drafter, "drafter")
    usual, own = Settings().to_json(), {} if entry is None else entry.usual
    return {**usual, **own, **given, "sampling": {**usual["sampling"], **given.get("sampling", {})}}


def listing() -> list[dict[str, Any]]:
    """The catalogue as rows: an entry's fields, bytes (of weight files) and on_this_machine."""
    return [_row(entry) for entry in entries()]


def _row(entry: Entry) -> dict[str, Any]:
    files = [] if entry.path is None else weight_files(entry.path)
    size = size_of(files) if files or entry.path is None else None
    return asdict(entry) | {"bytes": size, "on_this_machine": size is not None}


def settings_of(args: argparse.Namespace, drafter: str | None = None) -> Settings:
    """The settings that the options say, for `drafter` or the one named. Raises BadSettings."""
    said = vars(args)
    given = {f.name: said[f.name] for f in fields(Settings) if f.name in said}
    sampling = {f.name: said[f.name] for f in fields(Sampling) if f.name in said}
    filled_in = filled(drafter or args.drafter or "", {**given, "sampling": sampling})
    return Settings.from_json(filled_in)
