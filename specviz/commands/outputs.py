"""Where a command's results go: a file, or `-` for standard output.

Rule: a place that cannot be written is found before the work, so that nothing is lost after it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STANDARD_OUTPUT = "-"


def require_writable(*places: str | None) -> None:
    """Raise ValueError with a sentence unless each place (None: not asked for) can be written."""
    for place in places:
        if place is not None and place != STANDARD_OUTPUT:
            _try(Path(place))


def _try(path: Path) -> None:
    """Open the file without changing it; leave none behind where there was none."""
    try:
        new = not path.exists()
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    if new:
        path.unlink()


def write_json(place: str, data: Any) -> None:
    """Write data as indented JSON. Raises ValueError where it holds NaN or infinity."""
    write_lines(place, [json.dumps(data, indent=2, allow_nan=False)])


def write_lines(place: str, lines: Iterable[str]) -> None:
    """Write lines, each with a line end."""
    text = "".join(f"{line}\n" for line in lines)
    if place == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        Path(place).write_text(text, encoding="utf-8")


def printable(text: str) -> str:
    """Text for a terminal: control characters, which could steer it, as U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
