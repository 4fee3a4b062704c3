"""Output of commands: text, tables and JSON.

In a pipe or a file, output is plain: there are no escape codes, no line is wrapped or cut, and
every row of a table is one line. On a terminal, output fits the width; NO_COLOR turns all styles
off. Text may come from a model or a visitor, so it is never parsed as markup. rich is imported only
when it is needed, so that short commands start quickly.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STANDARD_OUTPUT: Final = "-"  # the path that stands for standard output
PIPE_WIDTH: Final = 100_000  # number of columns in a pipe, so that nothing is wrapped
GAP: Final = 2  # spaces between two columns
MIN_WRAPPED_WIDTH: Final = 20  # columns; if wrapped cells were narrower, rows are printed as lists
HELP_STYLES: Final = (
    (re.compile(r"^usage:", re.MULTILINE), "bold"),
    (re.compile(r"^[A-Za-z][^\n]*:$", re.MULTILINE), "bold"),
    (re.compile(r"(?<![\w-])--?[a-z][\w-]*"), "cyan"),
    (re.compile(r"^  [a-z][\w-]*(?=  )", re.MULTILINE), "cyan"),  # commands and arguments
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        wrap: Whether a cell may take several lines on a terminal, as sentences do.
        width: Minimum width, for a table that is printed in several parts.
    """

    title: str
    right: bool = False
    wrap: bool = False
    width: int = 0


def printable(text: str) -> str:
    """Replace control characters, which could control a terminal, by U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def is_terminal(stderr: bool = False) -> bool:
    """Return whether standard output, or standard error, is a terminal."""
    return (sys.stderr if stderr else sys.stdout).isatty()


def console(stderr: bool = False) -> Console:
    """Return a rich console; in a pipe it is plain and has unlimited width."""
    from rich.console import Console

    terminal = is_terminal(stderr)
    return Console(
        stderr=stderr,
        force_terminal=terminal,
        width=None if terminal else PIPE_WIDTH,
        color_system="auto" if terminal and not os.environ.get("NO_COLOR") else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def say(text: str = "", style: str = "", stderr: bool = False) -> None:
    """Print a line or a paragraph, wrapped between words on a terminal."""
    if is_terminal(stderr):
        from rich.text import Text

        console(stderr).print(Text(printable(text), style))
    else:
        print(printable(text), file=sys.stderr if stderr else sys.stdout, flush=True)


def print_help(text: str) -> None:
    """Print the help of a command, coloured on a terminal."""
    if not is_terminal() or os.environ.get("NO_COLOR"):
        sys.stdout.write(text)
        return
    from rich.text import Text

    styled = Text(text, end="")
    for pattern, style in HELP_STYLES:
        styled.highlight_regex(pattern, style)
    console().print(styled, soft_wrap=True, end="")


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], header: bool = True
) -> None:
    """Print rows as a table with titles, or on a narrow terminal as one list per row."""
    cells = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
    screen = console()
    if screen.width < _min_width(columns, cells):
        for row in cells:
            _print_list(screen, columns, row)
        return
    table = _table(columns, cells, header)
    if screen.is_terminal:
        screen.print(table)
        return
    with screen.capture() as captured:
        screen.print(table)
    lines = captured.get().splitlines()
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))
    sys.stdout.flush()


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    print_table([Column("", width=1), Column("", wrap=True)], pairs, header=False)


def _min_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    widths = [
        max(column.width, *(cell_len(text) for text in [column.title, *(row[at] for row in rows)]))
        for at, column in enumerate(columns)
    ]
    needed = [
        min(width, MIN_WRAPPED_WIDTH) if column.wrap else width
        for width, column in zip(widths, columns, strict=True)
    ]
    return sum(needed) + GAP * (len(columns) - 1)


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]], header: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=header)
    for at, column in enumerate(columns):
        table.add_column(
            Text(column.title, "bold"),
            style="cyan" if at == 0 else "",
            justify="right" if column.right else "left",
            no_wrap=not column.wrap,
            min_width=column.width or None,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_list(screen: Console, columns: Sequence[Column], row: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    screen.print(Text(row[0], "cyan"))
    pairs = zip(columns[1:], row[1:], strict=True)
    for column, cell in ((column, cell) for column, cell in pairs if cell):
        title = f"{column.title}: " if column.title else ""
        screen.print(Padding(Text.assemble((title, "dim"), cell), (0, 0, 0, 2), expand=False))


def require_writable(*paths: str | None) -> None:
    """Check before the work begins that results can be written, so that they are not lost.

    *paths: paths to try. None and "-" are skipped. Raises ValueError if a path cannot be written.
    """
    for path in paths:
        if path is not None and path != STANDARD_OUTPUT:
            _try_to_open(Path(path))


def _try_to_open(path: Path) -> None:
    # Without changing it; a new file is removed again.
    try:
        new = not path.exists()
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    if new:
        path.unlink()


def write_json(path: str, data: Any) -> None:
    """Write data as indented JSON. Raises ValueError if it contains NaN or infinity."""
    write_lines(path, [json.dumps(data, indent=2, allow_nan=False)])


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines, each with a line end, to a file or, for "-", to standard output."""
    text = "".join(f"{line}\n" for line in lines)
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")
