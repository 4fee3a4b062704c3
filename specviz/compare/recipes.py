"""Which recorded races ship with the app, and how each is made. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.catalog.entry import with_defaults
from specviz.compare.race import Lane, Race
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS, HOUSE, of_shipped, text_of

FOLDER: Final = ASSETS / "races"


@dataclass(frozen=True, slots=True)
class RaceRecipe:
    """One shipped race. name: its folder; title: what it shows, for people.

    prompt, target: as of a `Recipe`. settings: what differs from the usual in all lanes. lanes: by
    name, the drafter and what differs in that lane alone.
    """

    name: str
    title: str
    prompt: tuple[str, int] | str
    order_seed: int
    settings: dict[str, Any]
    lanes: dict[str, tuple[str, dict[str, Any]]]
    target: str = HOUSE

    @property
    def race(self) -> Race:
        """The race itself."""
        lanes = tuple(
            Lane(name, drafter, Settings.from_json(with_defaults(drafter, self.settings | own)))
            for name, (drafter, own) in self.lanes.items()
        )
        return Race(text_of(self.prompt), self.target, lanes, self.order_seed)


def recipes(folder: Path = FOLDER) -> list[RaceRecipe]:
    """Every shipped race, in the order shown; none for a folder that lists none.

    Raises BrokenFile.
    """
    listed = folder / "recipes.json"
    if not listed.exists():
        return []
    return of_shipped(listed, lambda rows: [RaceRecipe(**row) for row in rows])
