"""The recorded races that ship with the app, as JSON lines for the page. Needs no model."""

from __future__ import annotations

import gzip
from functools import cache
from typing import TypedDict

from specviz.compare.storage import FILE, FOLDER, RaceRecipe, read, recipes
from specviz.ui.broken import spared
from specviz.ui.compare.race.lines import replay


class Config(TypedDict):
    """Where the recorded races are fetched, and their names."""

    races: str
    recorded: list[str]


@cache
def names() -> tuple[str, ...]:
    """The folders of the recorded races, in order; the page opens with the first."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}")))


def recipe(name: str) -> RaceRecipe | None:
    """The recipe of a recorded race; None if there is none."""
    known: list[RaceRecipe] = spared(lambda: recipes(FOLDER), [])
    return next((made for made in known if made.name == name), None)


def title(name: str) -> str:
    """A recorded race's title: its recipe's, else its folder's name in words."""
    made = recipe(name)
    return made.title if made else name.lstrip("0123456789-").replace("-", " ")


@cache
def body(name: str) -> bytes:
    """A recorded race as compressed JSON lines, cached. Raises SavedError with a sentence."""
    return gzip.compress("".join(replay(read(FOLDER / name), name)).encode(), 6, mtime=0)


def config() -> Config:
    """The config of the race's script."""
    from specviz.ui.routes import PREFIX

    return {"races": f"{PREFIX}/races/".lstrip("/"), "recorded": list(names())}
