"""Shows on a terminal how far the loading of models is; nothing in a pipe or a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from specviz.commands.console import REDRAW, Progress, is_terminal
from specviz.commands.outputs import printable
from specviz.models.libraries import start_libraries
from specviz.models.load_progress import LoadStage, listening

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


@contextmanager
def loading_shown() -> Iterator[None]:
    """Import torch and transformers; within, show each stage of the loads made here."""
    with LoadProgress() as progress, listening(progress.show):
        start_libraries()
        yield


class LoadProgress(Progress):
    """One line with the stage, the bytes, the seconds left and a bar, gone after the load."""

    def __init__(self) -> None:
        super().__init__()
        self._title = ""

    def show(self, stage: LoadStage | None) -> None:
        """Show a stage; None: the load is over."""
        if not is_terminal(stderr=True):
            return
        if stage is None:
            self.close()
        elif stage.title != self._title or monotonic() - self._drawn >= REDRAW:
            bar, task = self._started()
            text = printable(stage.text)
            bar.update(task, description=text, completed=stage.done, total=stage.total or None)
            bar.refresh()
            self._title, self._drawn = stage.title, monotonic()

    def due(self, done: int, total: int) -> bool:
        """Never: see the module."""
        return False

    def line(self, done: int, total: int) -> str:
        """See `due`."""
        raise NotImplementedError

    def columns(self) -> list[ProgressColumn]:
        """The sentence and a bar."""
        from rich.progress import BarColumn, TextColumn

        return [TextColumn("{task.description}", markup=False), BarColumn(20)]
