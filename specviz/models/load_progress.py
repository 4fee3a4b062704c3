"""Progress of a load: its stage, the bytes done, and the seconds left.

The code that loads announces stages to a listener. Without a listener nothing is kept.
Standard library only: the command line shows the first stage before torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final

LIBRARIES: Final = "starting the libraries torch and transformers"
TOKENIZER: Final = "reading the tokenizer"
WEIGHTS: Final = "reading the weights"
NETWORK: Final = "building the network"
PRODUCTS: Final = "measuring which way of computing is fastest here"
WARM_UP: Final = "warming up"
FINGERPRINT: Final = "computing the checksum of the files"

LEAST: Final = 0.3  # seconds of a stage before its rate says how long it will take


@dataclass(frozen=True, slots=True)
class LoadStage:
    """A stage of a load. model: whose; empty for the libraries. begun: by the monotonic clock.

    done, total: bytes; total is 0 where the stage has no count.
    """

    title: str
    model: str = ""
    done: int = 0
    total: int = 0
    begun: float = field(default_factory=monotonic)

    @property
    def spent(self) -> float:
        """Seconds since the stage began."""
        return monotonic() - self.begun

    @property
    def left(self) -> float | None:
        """Seconds that the stage still takes at its rate so far; None where that is not known."""
        spent = self.spent
        if not self.done or spent < LEAST:
            return None
        return spent * (self.total - self.done) / self.done

    @property
    def text(self) -> str:
        """For example: Loading smollm2: reading the weights, 61 of 97 MB, about 1 s left."""
        parts = [f"Loading {self.model}: {self.title}" if self.model else self.title.capitalize()]
        if self.total:
            parts.append(f"{self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB")
        if self.left is not None:
            parts.append(f"about {self.left:.0f} s left")
        return ", ".join(parts)


Report = Callable[[LoadStage | None], object]  # None: the load is over


@dataclass(slots=True)
class _Listener:
    """models: of the loads under way, each inside the one before it."""

    report: Report
    models: list[str] = field(default_factory=list)
    stage: LoadStage | None = None


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(report: Report) -> Iterator[None]:
    """Within, `report` hears each stage of a load, its bytes as they grow, and the end."""
    token = _LISTENER.set(_Listener(report))
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def loading(model: str = "") -> Iterator[None]:
    """Within, stages are those of this model; empty: of the libraries."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    listener.models.append(model)
    try:
        yield
    finally:
        listener.models.pop()
        if not listener.models:
            listener.stage = None
            listener.report(None)


def begin(title: str, total: int = 0) -> None:
    """Announce a stage. total: bytes that `advance` will count; 0 for none."""
    listener = _LISTENER.get()
    if listener is not None and listener.models:
        listener.stage = LoadStage(title, listener.models[-1], total=total)
        listener.report(listener.stage)


def advance(size: int, title: str | None = None) -> None:
    """Count bytes of the stage under way. title: only where it is this stage."""
    listener = _LISTENER.get()
    if listener is None or (stage := listener.stage) is None or title not in (None, stage.title):
        return
    if stage.done < stage.total:  # tied weights are met twice
        listener.stage = replace(stage, done=min(stage.done + size, stage.total))
        listener.report(listener.stage)
