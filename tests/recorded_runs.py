"""The recorded runs and races that ship, each read once; tests must not change them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from specviz.compare import storage
from specviz.shipped import FOLDER
from specviz.trace.file import Trace

RUNS = sorted(FOLDER.glob("*.jsonl"))
LANES = sorted(storage.FOLDER.glob("*/*.jsonl"))


@cache
def read(path: Path) -> Trace:
    """Read a run or a lane of a race."""
    return Trace.read(path)


def run(name: str) -> Trace:
    """Read a run by its name."""
    return read(FOLDER / f"{name}.jsonl")
