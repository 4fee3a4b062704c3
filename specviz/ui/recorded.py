"""The recorded runs that ship with the app, as the player's lines. Needs no model."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Final

from specviz.assets import ASSETS
from specviz.trace import Trace
from specviz.ui.reel import lines

FOLDER: Final = ASSETS / "traces"


@cache
def names() -> tuple[str, ...]:
    """The recorded runs by file name, in order: the first one plays when the page opens."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


def title(name: str) -> str:
    """A recorded run's name for people: 01-stories-sampled becomes "stories sampled"."""
    return name.lstrip("0123456789-").replace("-", " ")


@cache
def body(name: str) -> bytes:
    """A recorded run as compressed lines, made once."""
    trace = Trace.read(FOLDER / f"{name}.jsonl")
    text = "".join(lines([trace.header, *trace.events], "recorded", name))
    return gzip.compress(text.encode(), 6)
