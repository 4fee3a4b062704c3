"""The terminal: the one module that prints tables, colour and progress bars, with rich.

Rule: in a pipe or a file, output is plain: no escape codes, no line is wrapped or cut, and every
row of a table is one line. On a terminal it fits the width; NO_COLOR turns all styles off. Text may
come from a model or a visitor, so it is never read as markup. rich is imported only when it is
needed, which keeps short commands quick.
"""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from specviz.commands.outputs import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID
    from rich.table import Table

UNLIMITED: Final = 100_000  # columns of a pipe: nothing is wrapped there
GAP: Final = 2  # spaces between two columns
NARROWEST: Final = 20  # of a column that wraps; with less, each row is printed as a list
LINE_SECONDS: Final = 30.0  # between two lines of progress in a file
LINE_PERCENT: Final = 5  # between two lines of a download in a file
REDRAW: Final = 0.2  # seconds between two drawings of a bar, so that it disturbs no measurement
HELP_STYLES: Final = (
    (re.compile(r"^usage:", re.MULTILINE), "bold"),
    (re.compile(r"^[A-Za-z][^\n]*:$", re.MULTILINE), "bold"),
    (re.compile(r"(?<![\w-])--?[a-z][\w-]*"), "cyan"),
    (re.compile(r"^  [a-z][\w-]*(?=  )", re.MULTILINE), "cyan"),  # commands and positionals
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    right: numbers, aligned by their ends. wrap: prose, which may take several lines on a terminal.
    width: the least width, for tables that are printed in several pieces.
    """

    title: str
    right: bool = False
    wrap: bool = False
    width: int = 0


def is_terminal(stderr: bool = False) -> bool:
    """Whether the stream is a terminal."""
    return (sys.stderr if stderr else sys.stdout).isatty()


def console(stderr: bool = False) -> Console:
    """A console on standard output or standard error: plain and of unlimited width in a pipe."""
    from rich.console import Console

    terminal = is_terminal(stderr)
    return Console(
        stderr=stderr,
        force_terminal=terminal,
        width=None if terminal else UNLIMITED,
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
    """Print rows under their titles; on a terminal too narrow for them, a list for each row."""
    cells = [[_one_line(cell) for cell in row] for row in rows]
    screen = console()
    if screen.width < _least_width(columns, cells):
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


def _one_line(cell: str) -> str:
    return " ".join(printable(cell).split())


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """The terminal's width from which on the rows can be printed as a table."""
    from rich.cells import cell_len

    widths = [
        max(column.width, *(cell_len(text) for text in [column.title, *(row[at] for row in rows)]))
        for at, column in enumerate(columns)
    ]
    kept = [
        min(width, NARROWEST) if column.wrap else width
        for width, column in zip(widths, columns, strict=True)
    ]
    return sum(kept) + GAP * (len(columns) - 1)


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
    """One row of a table as a list: its first cell, and the others below it with their titles."""
    from rich.padding import Padding
    from rich.text import Text

    screen.print(Text(row[0], "cyan"))
    pairs = zip(columns[1:], row[1:], strict=True)
    for column, cell in ((column, cell) for column, cell in pairs if cell):
        title = f"{column.title}: " if column.title else ""
        screen.print(Padding(Text.assemble((title, "dim"), cell), (0, 0, 0, 2), expand=False))


class Progress(ABC):
    """Progress on standard error: a bar on a terminal, otherwise a line now and then."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0

    @abstractmethod
    def line(self, done: int, total: int) -> str:
        """How far it is, in a line for a file."""

    @abstractmethod
    def due(self, done: int, total: int) -> bool:
        """Whether a file gets a line now."""

    @abstractmethod
    def columns(self) -> list[ProgressColumn]:
        """The parts of the bar."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away; `update` draws a new one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def update(self, done: int, total: int) -> None:
        """Show how much is done. total: 0 if it is not known."""
        if not is_terminal(stderr=True):
            if self.due(done, total):
                say(self.line(done, total), stderr=True)
            return
        bar, task = self._started()
        bar.update(task, completed=done, total=total or None)
        if monotonic() - self._drawn >= REDRAW or done == total:
            bar.refresh()
            self._drawn = monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within, no bar is drawn, so that something else can be printed."""
        if self._bar is None:
            yield
            return
        self._bar.stop()
        yield
        self._bar.start()

    def say(self, text: str) -> None:
        """Print a line on standard error, above the bar."""
        with self.paused():
            say(text, stderr=True)

    def _started(self) -> tuple[Bar, TaskID]:
        if self._bar is None or self._task is None:
            from rich.progress import Progress as Bar

            self._bar = Bar(
                *self.columns(),
                console=console(stderr=True),
                auto_refresh=False,  # no second thread beside a measurement
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self._bar, self._task


class CallProgress(Progress):
    """Counts calls. noun: what they are called."""

    def __init__(self, total: int, noun: str = "calls") -> None:
        super().__init__()
        self._total, self._noun, self._done = total, noun, 0
        self._since = self._last = monotonic()

    def advance(self) -> None:
        """Count one more."""
        self._done += 1
        self.update(self._done, self._total)

    def due(self, done: int, total: int) -> bool:
        """Every half minute, and at the end."""
        if done < total and monotonic() - self._last < LINE_SECONDS:
            return False
        self._last = monotonic()
        return True

    def line(self, done: int, total: int) -> str:
        """For example: 12 of 48 calls, 25 %, about 90 s left."""
        left = (monotonic() - self._since) / done * (total - done)
        more = f", about {left:.0f} s left" if done < total else ""
        return f"{done} of {total} {self._noun}, {100 * done // total} %{more}"

    def columns(self) -> list[ProgressColumn]:
        """Bar, count, time left."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        noun = TextColumn(self._noun, markup=False)
        return [BarColumn(), MofNCompleteColumn(), noun, TimeRemainingColumn()]


class DownloadProgress(Progress):
    """Counts bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._next = LINE_PERCENT

    def due(self, done: int, total: int) -> bool:
        """Every few per cent."""
        percent = 100 * done // total if total else 0
        if percent < self._next:
            return False
        self._next = percent + LINE_PERCENT
        return True

    def line(self, done: int, total: int) -> str:
        """For example: 25 %, 30 of 120 MB."""
        return f"{100 * done // total} %, {done / 1e6:.0f} of {total / 1e6:.0f} MB"

    def columns(self) -> list[ProgressColumn]:
        """Bar, bytes, speed, time left."""
        from rich import progress

        return [
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
        ]
