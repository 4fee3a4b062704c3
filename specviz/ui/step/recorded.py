"""The recorded runs that ship with the app, as the player's lines. Needs no model."""

from __future__ import annotations

import gzip
from functools import cache, partial
from typing import Final

from specviz.catalog.entry import group_of, title_of, with_defaults
from specviz.models.served.http_client import is_served
from specviz.settings.settings import Settings
from specviz.shipped import EXAMPLE, FOLDER, Recipe, prompts, recipes
from specviz.trace.file import Trace
from specviz.ui.broken import spared
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.lines import lines

START: Final = "Start here"


@cache
def names() -> tuple[str, ...]:
    """The recorded runs by file name, in order: the first one plays when the page opens."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


def title(name: str) -> str:
    """A recorded run's name for people: its recipe's title, else its file's name in words.

    Those to start with are numbered.
    """
    made = recipe(name)
    if made is None:
        return name.lstrip("0123456789-").replace("-", " ")
    starts = [one.name for one in known() if one.start]
    return f"{starts.index(name) + 1} · {made.title}" if made.start else made.title


def group(name: str) -> str:
    """What a recorded run stands under: START, its target where that is not the house's, or its
    drafter's group; "" where no recipe tells.
    """
    made = recipe(name)
    if made is None:
        return ""
    if is_served(made.target):
        return "A target on a server"
    if made.target != HOUSE:
        return f"A chat model: {title_of(made.target)}"
    return START if made.start else group_of(made.drafter)


def recipe(name: str) -> Recipe | None:
    """How a recorded run was made; None where no recipe tells."""
    return next((made for made in known() if made.name == name), None)


def known() -> list[Recipe]:
    """The recipes; none where their file is broken."""
    return spared(partial(recipes, FOLDER), [])


def opening() -> RunRequest:
    """What the form says when the page opens: the run that plays then, so that it can be made live.

    Where no recipe tells how that was made, an example prompt with the usual settings.
    """
    made = recipe(names()[0]) if names() else None
    if made is None:
        return RunRequest(spared(lambda: prompts()["stories"][0], EXAMPLE))
    settings = Settings.from_json(with_defaults(made.drafter, made.settings))
    return RunRequest(spared(lambda: made.text, EXAMPLE), HOUSE, made.drafter, settings)


def trace(name: str) -> Trace:
    """A recorded run, read. Raises ValueError naming it and what is wrong, where it cannot be."""
    try:
        return Trace.read(FOLDER / f"{name}.jsonl")
    except (OSError, ValueError) as problem:
        # A fault of the disk says the whole path, which is nobody's business.
        wrong = f"{problem.strerror}." if isinstance(problem, OSError) else problem
        raise ValueError(f"The recorded run {name!r} cannot be read: {wrong}") from problem


@cache
def body(name: str) -> bytes:
    """A recorded run as compressed lines, made once. Raises ValueError, as `trace`."""
    run = trace(name)
    text = "".join(lines([run.header, *run.events], "recorded", name))
    return gzip.compress(text.encode(), 9)
