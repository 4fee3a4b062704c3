"""The recorded runs that ship with the app, as the player's lines. Needs no model."""

from __future__ import annotations

import gzip
from functools import cache

from specviz.catalog.entry import filled
from specviz.settings.settings import Settings
from specviz.shipped import FOLDER, prompts, recipes
from specviz.trace.file import Trace
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.lines import lines


@cache
def names() -> tuple[str, ...]:
    """The recorded runs by file name, in order: the first one plays when the page opens."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


def title(name: str) -> str:
    """A recorded run's name for people: its recipe's title, else its file's name in words."""
    known = {recipe.name: recipe.title for recipe in recipes(FOLDER)}
    return known.get(name) or name.lstrip("0123456789-").replace("-", " ")


def opening() -> RunRequest:
    """What the form says when the page opens: the run that plays then, so that it can be made live.

    Where no recipe tells how that was made, an example prompt with the usual settings.
    """
    made = next((recipe for recipe in recipes(FOLDER) if recipe.name in names()[:1]), None)
    if made is None:
        return RunRequest(prompts()["stories"][0])
    settings = Settings.from_json(filled(made.drafter, made.settings))
    return RunRequest(made.text, HOUSE, made.drafter, settings)


@cache
def body(name: str) -> bytes:
    """A recorded run as compressed lines, made once."""
    trace = Trace.read(FOLDER / f"{name}.jsonl")
    text = "".join(lines([trace.header, *trace.events], "recorded", name))
    return gzip.compress(text.encode(), 9)
