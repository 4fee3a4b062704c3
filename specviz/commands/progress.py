"""Progress of measurements, downloads and loads, on standard error.

A terminal shows a bar. A pipe or a file gets occasional lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from specviz.commands.output import console, is_terminal, printable, say
from specviz.models.load_control import LoadStage, listening, start_libraries

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

LINE_SECONDS: Final = 30.0  # seconds between two lines about measurements in a file
LINE_PERCENT: Final = 5  # per cent between two lines about a download in a file
REDRAW_SECONDS: Final = 0.2  # between two drawings of a bar; drawing disturbs measurements


class Progress(ABC):
    """A bar on a terminal; otherwise occasional lines."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0

    @abstractmethod
    def line(self, done: int, total: int) -> str:
        """Return the progress as one line for a file."""

    @abstractmethod
    def line_is_due(self, done: int, total: int) -> bool:
        """Return whether a progress line should be written to a file now."""

    @abstractmethod
    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar; `update` draws a new one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def update(self, done: int, total: int) -> None:
        """Show how much is done, in calls or bytes. total: 0 if it is not known."""
        if not is_terminal(stderr=True):
            if self.line_is_due(done, total):
                say(self.line(done, total), stderr=True)
            return
        bar, task = self._started()
        bar.update(task, completed=done, total=total or None)
        if monotonic() - self._drawn >= REDRAW_SECONDS or done == total:
            bar.refresh()
            self._drawn = monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar inside this context, so that something else can be printed."""
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
                auto_refresh=False,  # no second thread during a measurement
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self._bar, self._task


class CallProgress(Progress):
    """Progress of measurements, counted in calls."""

    def __init__(self, total: int, noun: str = "calls") -> None:
        super().__init__()
        self._total, self._noun, self._done = total, noun, 0
        self._since = self._last = monotonic()

    def advance(self) -> None:
        """Count one more call as done."""
        self._done += 1
        self.update(self._done, self._total)

    def line_is_due(self, done: int, total: int) -> bool:
        """Return whether half a minute has passed since the last line, or all calls are done."""
        if done < total and monotonic() - self._last < LINE_SECONDS:
            return False
        self._last = monotonic()
        return True

    def line(self, done: int, total: int) -> str:
        """Return, for example, "12 of 48 calls, 25%, about 90 s left"."""
        left = (monotonic() - self._since) / done * (total - done)
        more = f", about {left:.0f} s left" if done < total else ""
        return f"{done} of {total} {self._noun}, {100 * done // total}%{more}"

    def columns(self) -> list[ProgressColumn]:
        """Return the bar, the count and the time left."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        noun = TextColumn(self._noun, markup=False)
        return [BarColumn(), MofNCompleteColumn(), noun, TimeRemainingColumn()]


class DownloadProgress(Progress):
    """Progress of a download, in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._next = LINE_PERCENT

    def line_is_due(self, done: int, total: int) -> bool:
        """Return whether a few more per cent are done since the last line."""
        percent = 100 * done // total if total else 0
        if percent < self._next:
            return False
        self._next = percent + LINE_PERCENT
        return True

    def line(self, done: int, total: int) -> str:
        """Return, for example, "25%, 30 of 120 MB"."""
        return f"{100 * done // total}%, {done / 1e6:.0f} of {total / 1e6:.0f} MB"

    def columns(self) -> list[ProgressColumn]:
        """Return the bar, the bytes, the speed and the time left."""
        from rich import progress

        return [
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
        ]


class LoadProgress(Progress):
    """Progress of loading a model, on a terminal only: its stage, bytes, seconds left and a bar."""

    def __init__(self) -> None:
        super().__init__()
        self._title = ""

    def show(self, stage: LoadStage | None) -> None:
        """Show a stage; None ends the load."""
        if not is_terminal(stderr=True):
            return
        if stage is None:
            self.close()
        elif stage.title != self._title or monotonic() - self._drawn >= REDRAW_SECONDS:
            bar, task = self._started()
            text = printable(stage.text)
            bar.update(task, description=text, completed=stage.done, total=stage.total or None)
            bar.refresh()
            self._title, self._drawn = stage.title, monotonic()

    def line_is_due(self, done: int, total: int) -> bool:
        """Return False, since no lines about loading are written to a file."""
        return False

    def line(self, done: int, total: int) -> str:
        """Raise NotImplementedError, since no lines about loading are written to a file."""
        raise NotImplementedError

    def columns(self) -> list[ProgressColumn]:
        """Return the sentence and a bar."""
        from rich.progress import BarColumn, TextColumn

        return [TextColumn("{task.description}", markup=False), BarColumn(20)]


@contextmanager
def show_loading() -> Iterator[None]:
    """Import torch and transformers, and show each stage of loads inside this context."""
    with LoadProgress() as progress, listening(progress.show):
        start_libraries()
        yield
