"""The recorded races that ship with the app, as lines for the page. Needs no model."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

from specviz.compare.recipes import FOLDER, RaceRecipe, recipes
from specviz.compare.saved import FILE, read
from specviz.ui.broken import spared
from specviz.ui.compare.race.lines import replay


@cache
def names() -> tuple[str, ...]:
    """The recorded races by folder, in order: the first one plays when the page opens."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}")))


def recipe(name: str) -> RaceRecipe | None:
    """How a recorded race was made; None where no recipe tells."""
    known: list[RaceRecipe] = spared(lambda: recipes(FOLDER), [])
    return next((made for made in known if made.name == name), None)


def title(name: str) -> str:
    """A recorded race's name for people: its recipe's title, else its folder's name in words."""
    made = recipe(name)
    return made.title if made else name.lstrip("0123456789-").replace("-", " ")


@cache
def body(name: str) -> bytes:
    """A recorded race as compressed lines, made once. Raises SavedError with a sentence."""
    return gzip.compress("".join(replay(read(FOLDER / name), name)).encode(), 6, mtime=0)


def config() -> dict[str, Any]:
    """What the page's script knows of recorded races."""
    from specviz.ui.routes import PREFIX

    return {
        "races": f"{PREFIX}/races/".lstrip("/"),
        "recorded": list(names()),
        "titles": {name: title(name) for name in names()},
    }
