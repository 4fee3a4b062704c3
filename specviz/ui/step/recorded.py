"""The shipped recorded runs, as lines for the player; no model is needed."""

from __future__ import annotations

import gzip
from functools import cache, partial
from typing import Final

from specviz.catalog.entry import group_of, title_of, with_defaults
from specviz.models.served.http_client import is_served
from specviz.settings.settings import Settings
from specviz.shipped import EXAMPLE, FOLDER, Recipe, prompts, recipes
from specviz.trace.file import Trace
from specviz.ui.broken import read_unless_broken
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.lines import lines

START: Final = "Start here"


@cache
def names() -> tuple[str, ...]:
    """Return the recorded runs' file names in order; the first is shown when the page opens."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


def title(name: str) -> str:
    """Return a recorded run's title from its recipe (numbered for beginners), or else its name."""
    made = recipe(name)
    if made is None:
        return name.lstrip("0123456789-").replace("-", " ")
    starts = [one.name for one in known() if one.start]
    return f"{starts.index(name) + 1} · {made.title}" if made.start else made.title


def group(name: str) -> str:
    """Return a recorded run's heading in the list: START, another target, its group or ""."""
    made = recipe(name)
    if made is None:
        return ""
    if is_served(made.target):
        return "A target on a server"
    if made.target != HOUSE:
        return f"A chat model: {title_of(made.target)}"
    return START if made.start else group_of(made.drafter)


def recipe(name: str) -> Recipe | None:
    """Return the recipe of a recorded run, if it has one."""
    return next((made for made in known() if made.name == name), None)


def known() -> list[Recipe]:
    """Return the recipes; empty if their file is broken."""
    return read_unless_broken(partial(recipes, FOLDER), [])


def opening() -> RunRequest:
    """Return the request in the form when the page opens: the request of the run shown first.

    So this run can be computed live. If it has no recipe, the request is an example prompt with the
    default settings.
    """
    made = recipe(names()[0]) if names() else None
    if made is None:
        return RunRequest(read_unless_broken(lambda: prompts()["stories"][0], EXAMPLE))
    settings = Settings.from_json(with_defaults(made.drafter, made.settings))
    return RunRequest(read_unless_broken(lambda: made.text, EXAMPLE), HOUSE, made.drafter, settings)


def trace(name: str) -> Trace:
    """Read a recorded run; ValueError, with the run and the problem, if it is impossible."""
    try:
        return Trace.read(FOLDER / f"{name}.jsonl")
    except (OSError, ValueError) as problem:
        # The message of an OSError contains the whole path, which visitors must not see.
        wrong = f"{problem.strerror}." if isinstance(problem, OSError) else problem
        raise ValueError(f"The recorded run {name!r} cannot be read: {wrong}") from problem


@cache
def body(name: str) -> bytes:
    """Return a recorded run as gzipped lines, cached. Raises ValueError like `trace`."""
    run = trace(name)
    text = "".join(lines([run.header, *run.events], "recorded", name))
    return gzip.compress(text.encode(), 9)
