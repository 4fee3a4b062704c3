"""How long a job holds the models: for a share of time while others wait, and for a limit in all.

Rule: a job is done in steps, and may be interrupted between two of them only: then every clock is
closed, so what it measures is its own time. Where a GPU is lent, that is lent for one job's time,
and no job gives way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

from specviz.adapters.spaces import ZEROGPU

SHARE: Final = 5.0  # seconds that a job computes before those who wait have their turn


class Steps:
    """A job under way. made: does a step each time it is asked, and is over with the job."""

    def __init__(self, made: Iterator[None]) -> None:
        self._made = made
        self._threads: int | None = None
        self.begun = False

    def go_on(self, others: Callable[[], bool]) -> bool:
        """Do steps until all are done: True, or the share is spent and somebody waits: False."""
        self.begun = True
        self._as_before()
        since = monotonic()
        for _ in self._made:
            if not ZEROGPU and monotonic() - since >= SHARE and others():
                self._threads = threads_now()
                return False
        return True

    def _as_before(self) -> None:
        """With as many threads as before: what a job measures is compared with its own."""
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._threads)


def threads_now() -> int:
    """With how many threads torch computes just now."""
    import torch

    return torch.get_num_threads()


def lasting(seconds: float) -> str:
    """Seconds in words: "5 minutes", "90 seconds"."""
    whole = round(seconds)
    number, unit = (whole // 60, "minute") if whole % 60 == 0 else (whole, "second")
    return f"{number:,} {unit}{'s' if number != 1 else ''}"


def said(limit: float) -> str:
    """What a visitor should know before a job begins."""
    gives_way = "" if ZEROGPU else ", and lets others have their turns meanwhile"
    most = f"Here a job computes for {lasting(limit)} at most"
    return f"{most}{gives_way}. What it has by then stays."
