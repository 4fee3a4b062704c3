"""The shipped recorded races, as JSON lines for the page; no model is needed."""

from __future__ import annotations

import gzip
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TypedDict

from specviz.compare.storage import FILE, FOLDER, RaceRecipe, read, recipes
from specviz.trace.codec import read_lines
from specviz.trace.file import Trace
from specviz.ui.broken import read_unless_broken
from specviz.ui.compare.race.lines import replay
from specviz.ui.request import HOUSE


class Config(TypedDict):
    """Initial data of the race's script.

    Attributes:
        served: Whether a server can be asked; False in a file that replays a race.
        replay: The address of the file that replays a race, to which the page adds the race.
    """

    served: bool
    replay: str
    races: str
    recorded: list[str]


@cache
def names() -> tuple[str, ...]:
    """Return the folders of the recorded races, in order; the page opens with the first."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}")))


def recipe(name: str) -> RaceRecipe | None:
    """Return the recipe of a recorded race; None if it has none."""
    known: list[RaceRecipe] = read_unless_broken(lambda: recipes(FOLDER), [])
    return next((made for made in known if made.name == name), None)


def title(name: str) -> str:
    """Return a recorded race's title: from its recipe, or made from the name of its folder."""
    made = recipe(name)
    return made.title if made else name.lstrip("0123456789-").replace("-", " ")


@cache
def machines() -> frozenset[str]:
    """Return the machines of the recorded races of House, without races that cannot be read."""
    traces = [path for name in names() for path in sorted((FOLDER / name).glob("*.jsonl"))]
    found = [read_unless_broken(partial(_machine, path), "") for path in traces]
    return frozenset(filter(None, found))


def _machine(path: Path) -> str:
    header = Trace.parse(islice(read_lines(path), 1)).header
    return header.machine if header.target.name == HOUSE else ""


@cache
def body(name: str) -> bytes:
    """Return a recorded race as compressed JSON lines; the result is cached.

    Raises SavedError if it cannot be read.
    """
    return gzip.compress("".join(replay(read(FOLDER / name), name)).encode(), 6, mtime=0)


def config() -> Config:
    """Return the config of the race's script."""
    from specviz.ui.compare.race.replay import RACE
    from specviz.ui.routes import PREFIX

    return {
        "served": True,
        "replay": RACE.address,
        "races": f"{PREFIX}/races/".lstrip("/"),
        "recorded": list(names()),
    }
