"""Progress of a load: its stage, the bytes done, and the seconds left.

Loading code reports its stages to a listener. Without a listener, reports are dropped. Standard
library only: the command line shows the first stage before torch is imported.
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

MIN_SECONDS: Final = 0.3  # of a stage, before its rate is used to estimate the time left


@dataclass(frozen=True, slots=True)
class LoadStage:
    """A stage of a load.

    Attributes:
        title: What it does.
        model: The model that is loaded; empty for the libraries.
        done: Bytes so far.
        total: Total bytes; 0 if the stage counts none.
        begun: Start time on the monotonic clock.
    """

    title: str
    model: str = ""
    done: int = 0
    total: int = 0
    begun: float = field(default_factory=monotonic)

    @property
    def spent(self) -> float:
        """Return the seconds since the stage began."""
        return monotonic() - self.begun

    @property
    def left(self) -> float | None:
        """Return the seconds left at the rate so far, or None if it is not known yet."""
        spent = self.spent
        if not self.done or spent < MIN_SECONDS:
            return None
        return spent * (self.total - self.done) / self.done

    @property
    def text(self) -> str:
        """Return a text: Loading smollm2: reading the weights, 61 of 97 MB, about 1 s left."""
        parts = [f"Loading {self.model}: {self.title}" if self.model else self.title.capitalize()]
        if self.total:
            parts.append(f"{self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB")
        if self.left is not None:
            parts.append(f"about {self.left:.0f} s left")
        return ", ".join(parts)


Report = Callable[[LoadStage | None], object]  # None: the load is over


@dataclass(slots=True)
class _Listener:
    """A listener and the loads in progress.

    Attributes:
        report: Called with each stage.
        models: Names of the models, where each load runs inside the previous one.
        stage: The current stage.
    """

    report: Report
    models: list[str] = field(default_factory=list)
    stage: LoadStage | None = None


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(report: Report) -> Iterator[None]:
    """Report each stage of a load, its bytes as they grow, and its end to `report`."""
    token = _LISTENER.set(_Listener(report))
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def loading(model: str = "") -> Iterator[None]:
    """Attribute the stages inside this context to a model; an empty name means the libraries."""
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


def begin_stage(title: str, total: int = 0) -> None:
    """Report that a stage begins.

    Args:
        title: What it does.
        total: Bytes that `advance` will count; 0 for none.
    """
    listener = _LISTENER.get()
    if listener is not None and listener.models:
        listener.stage = LoadStage(title, listener.models[-1], total=total)
        listener.report(listener.stage)


def advance(size: int, title: str | None = None) -> None:
    """Add bytes to the current stage.

    Args:
        size: Number of bytes.
        title: Count them only if the current stage has this title.
    """
    listener = _LISTENER.get()
    if listener is None or (stage := listener.stage) is None or title not in (None, stage.title):
        return
    if stage.done < stage.total:  # tied weights are counted twice
        listener.stage = replace(stage, done=min(stage.done + size, stage.total))
        listener.report(listener.stage)
