"""Progress of measurements, downloads and loads, on standard error.

A terminal shows a bar. A pipe or a file gets occasional lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self

from specviz.commands.output import console, is_terminal, printable, say
from specviz.models.load_control import LoadStage, listening, start_libraries

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

LINE_SECONDS: Final = 30.0  # seconds between two lines about measurements in a file
LINE_PERCENT: Final = 5  # per cent between two lines about a download in a file
REDRAW_SECONDS: Final = 0.2  # between two drawings of a bar; drawing disturbs measurements


class Progress:
    """A bar on a terminal, redrawn a few times a second; a subclass has its columns."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0

    def columns(self) -> list[ProgressColumn]:
        """Return the columns of the bar."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar; `draw` draws a new one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def draw(self, at_once: bool, **values: Any) -> None:
        """Set values of the bar, as for rich's `Progress.update`, and draw it if it is time."""
        bar, task = self._started()
        bar.update(task, **values)
        if at_once or monotonic() - self._drawn >= REDRAW_SECONDS:
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
    """Progress of measurements, counted in calls; in a file, a line every half minute."""

    def __init__(self, total: int, noun: str = "calls") -> None:
        super().__init__()
        self._total, self._noun, self._done = total, noun, 0
        self._since = self._last = monotonic()

    def advance(self) -> None:
        """Count one more call as done."""
        self._done += 1
        done, total, ended = self._done, self._total, self._done == self._total
        if is_terminal(stderr=True):
            self.draw(ended, completed=done, total=total)
        elif ended or monotonic() - self._last >= LINE_SECONDS:
            self._last = monotonic()
            left = (self._last - self._since) / done * (total - done)
            more = "" if ended else f", about {left:.0f} s left"
            say(f"{done} of {total} {self._noun}, {100 * done // total}%{more}", stderr=True)

    def columns(self) -> list[ProgressColumn]:
        """Return the bar, the count and the time left."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        noun = TextColumn(self._noun, markup=False)
        return [BarColumn(), MofNCompleteColumn(), noun, TimeRemainingColumn()]


class DownloadProgress(Progress):
    """Progress of a download, in bytes; in a file, a line every few per cent."""

    def __init__(self) -> None:
        super().__init__()
        self._next = LINE_PERCENT

    def update(self, done: int, total: int) -> None:
        """Show how many bytes are done. total: 0 if it is not known."""
        percent = 100 * done // total if total else 0
        if is_terminal(stderr=True):
            self.draw(done == total, completed=done, total=total or None)
        elif percent >= self._next:
            self._next = percent + LINE_PERCENT
            say(f"{percent}%, {done / 1e6:.0f} of {total / 1e6:.0f} MB", stderr=True)

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
        if stage is None:
            self.close()
        elif is_terminal(stderr=True):
            text, new = printable(stage.text), stage.title != self._title
            self.draw(new, description=text, completed=stage.done, total=stage.total or None)
            self._title = stage.title

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
