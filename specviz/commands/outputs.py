"""Writes a command's results to a file, or to standard output for `-`.

Rule: a path that cannot be written is reported before the work begins, so that no result is lost.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STANDARD_OUTPUT = "-"


def require_writable(*paths: str | None) -> None:
    """Raise ValueError with a sentence unless each path can be written. None is skipped."""
    for path in paths:
        if path is not None and path != STANDARD_OUTPUT:
            _try(Path(path))


def _try(path: Path) -> None:
    """Open the file without changing it, and remove it again if it is new."""
    try:
        new = not path.exists()
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    if new:
        path.unlink()


def write_json(path: str, data: Any) -> None:
    """Write data as indented JSON. Raises ValueError if it holds NaN or infinity."""
    write_lines(path, [json.dumps(data, indent=2, allow_nan=False)])


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines, each with a line end."""
    text = "".join(f"{line}\n" for line in lines)
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


def printable(text: str) -> str:
    """Replace control characters, which could act on a terminal, by U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
