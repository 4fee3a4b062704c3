"""Which recorded runs ship with the app, and how each is made. Standard library only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.assets import ASSETS
from specviz.prompts import prompts

FOLDER: Final = ASSETS / "traces"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One shipped run. name: its file, without suffix; title: what it shows, for people.

    prompt: a domain and a place in it. settings: what differs from the usual.
    """

    name: str
    title: str
    prompt: tuple[str, int]
    drafter: str
    settings: dict[str, Any]

    @property
    def text(self) -> str:
        """The prompt."""
        domain, place = self.prompt
        return prompts()[domain][place]


def recipes(folder: Path = FOLDER) -> list[Recipe]:
    """Every shipped run, in the order shown; none for a folder that lists none."""
    listed = folder / "recipes.json"
    rows = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else []
    return [Recipe(**row) for row in rows]
