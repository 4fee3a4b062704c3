"""Loading of models: progress, the import of torch, limits on size, and stopping on request.

A config comes with the files and may describe a network of any size. torch calls a hook for every
parameter and buffer that a module registers. The hooks here raise an error if a network of any
architecture needs more weights than its files contain, or if the load was cancelled.

Importing the libraries is the first stage of a load; for small models it is the longest.

Loading code reports its stages to a listener; without one, reports are dropped. The module imports
only the standard library, so the command line can show the first stage before torch is imported.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from specviz.models.errors import Stopped, Unsuitable
from specviz.models.file_checks import StoredWeights

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig


LIBRARIES: Final = "starting the libraries torch and transformers"
TOKENIZER: Final = "reading the tokenizer"
WEIGHTS: Final = "reading the weights"
NETWORK: Final = "building the network"
PRODUCTS: Final = "measuring which way of computing is fastest here"
WARM_UP: Final = "warming up"
FINGERPRINT: Final = "computing the checksum of the files"

MIN_SECONDS: Final = 0.3  # seconds of a stage before the time left is estimated


@dataclass(frozen=True, slots=True)
class LoadStage:
    """A stage of a load.

    Attributes:
        model: The model that is loaded; empty while libraries are imported.
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
        """Seconds since the stage began."""
        return monotonic() - self.begun

    @property
    def left(self) -> float | None:
        """Estimated seconds left, or None if this is not known yet."""
        spent = self.spent
        if not self.done or spent < MIN_SECONDS:
            return None
        return spent * (self.total - self.done) / self.done

    @property
    def text(self) -> str:
        """A text such as: Loading smollm2: reading the weights, 61 of 97 MB, about 1 s left."""
        parts = [f"Loading {self.model}: {self.title}" if self.model else self.title.capitalize()]
        if self.total:
            parts.append(f"{self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB")
        if self.left is not None:
            parts.append(f"about {self.left:.0f} s left")
        return ", ".join(parts)


Report = Callable[[LoadStage | None], object]  # receives each stage; None when the load is over


@dataclass(slots=True)
class _Listener:
    # models: names of the models being loaded; each load runs inside the previous one.
    report: Report
    models: list[str] = field(default_factory=list)
    stage: LoadStage | None = None


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(report: Report) -> Iterator[None]:
    """Report each stage of a load, its progress in bytes, and its end by calling `report`."""
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
    """Report that a stage begins. total: bytes that `advance` will count; 0 for none."""
    listener = _LISTENER.get()
    if listener is not None and listener.models:
        listener.stage = LoadStage(title, listener.models[-1], total=total)
        listener.report(listener.stage)


def advance(size: int, title: str | None = None) -> None:
    """Add bytes to the current stage, if it has this title."""
    listener = _LISTENER.get()
    if listener is None or (stage := listener.stage) is None or title not in (None, stage.title):
        return
    if stage.done < stage.total:  # tied weights are counted twice, so `done` could exceed it
        listener.stage = replace(stage, done=min(stage.done + size, stage.total))
        listener.report(listener.stage)


SLACK: Final = 1 << 22  # in elements: a few missing weights are allowed here and reported later
SLACK_TENSORS: Final = 256
TENSORS: Final = 4  # parameters per stored tensor: a network may split a tensor
TIED: Final = 2  # tied weights are registered twice before they are tied
BUFFERS: Final = 1 << 26  # bytes that any network may use for computed tables, such as masks


@dataclass(slots=True)
class _Budget:
    # stored: bytes of the weight files; the others: what may still be registered.
    name: str
    stored: StoredWeights
    elements: int
    tensors: int
    buffers: int

    def check(self) -> None:
        if min(self.elements, self.tensors, self.buffers) < 0:
            raise too_large(self.name, self.stored)


_BUDGET: ContextVar[_Budget | None] = ContextVar("budget", default=None)
_STOP: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


def too_large(name: str, stored: StoredWeights) -> Unsuitable:
    """Return the error for a config that describes a larger network than the weight files."""
    return Unsuitable(
        f"The config of {name!r} describes a larger network than its weight files hold: they have "
        f"{stored.elements:,} numbers in {stored.tensors:,} tensors."
    )


@contextmanager
def limited_to(name: str, stored: StoredWeights) -> Iterator[None]:
    """Refuse to build modules that need much more memory than their files.

    Raises Unsuitable in the constructor that exceeds the limit.
    """
    _register_hooks()
    buffers = BUFFERS + 4 * stored.elements
    elements = TIED * (stored.elements + SLACK)
    budget = _Budget(name, stored, elements, TENSORS * stored.tensors + SLACK_TENSORS, buffers)
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


@contextmanager
def stoppable(stop: Callable[[], bool]) -> Iterator[None]:
    """Make loads in this thread raise Stopped, between weights, after `stop` returns True."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stop() -> None:
    """Raise Stopped if the load was cancelled. Raises Stopped if the load was cancelled."""
    stop = _STOP.get()
    if stop is not None:
        _register_hooks()
        if stop():
            raise Stopped("Loading was stopped.")


def begin_weights(size: int) -> None:
    """Begin the stage that reads `size` bytes of weights; each registered weight is progress."""
    _register_hooks()
    begin_stage(WEIGHTS, size)


def check_size(name: str, config: PreTrainedConfig, network: Any, stored: StoredWeights) -> int:
    """Return how many weights a config's network has, without allocating them.

    The network is built on torch's meta device, where tensors have a shape but no memory.

    Raises Unsuitable if the network has more weights than the files.

    Args:
        name: The model's name, for errors.
        config: The config.
        network: Builds a model from a config, such as `AutoModelForCausalLM.from_config`.
        stored: Size of the weight files.
    """
    import torch

    from specviz.adapters.transformers import without_initialization

    with limited_to(name, stored), torch.device("meta"), without_initialization():
        try:
            model = network(config)
            model.tie_weights()  # otherwise a tied output head would be counted twice
        except (OverflowError, MemoryError) as error:
            raise too_large(name, stored) from error
        except RuntimeError as error:
            if "overflow" in str(error).lower():
                raise too_large(name, stored) from error
            raise
    weights: int = sum(weight.numel() for weight in model.parameters())
    if weights > stored.elements + SLACK:
        raise too_large(name, stored)
    return weights


@cache
def _register_hooks() -> None:
    # Once: adding and removing them would disturb other threads.
    from torch.nn.modules import module

    module.register_module_parameter_registration_hook(_on_parameter)
    module.register_module_buffer_registration_hook(_on_buffer)


def _on_parameter(_module: Any, _name: str, weight: Tensor) -> None:
    check_stop()
    if weight.device.type != "meta":
        advance(weight.nbytes, WEIGHTS)
    if (budget := _BUDGET.get()) is not None:
        budget.elements -= weight.numel()
        budget.tensors -= 1
        budget.check()


def _on_buffer(_module: Any, _name: str, table: Tensor | None) -> None:
    if (budget := _BUDGET.get()) is not None and table is not None:
        budget.buffers -= table.nbytes
        budget.check()


# Libraries, imported in this order; a load can be stopped between two of them.
MODULES: Final = ("torch", "transformers.modeling_utils", "specviz.models.checkpoint")


def start_libraries() -> None:
    """Import all libraries that are needed to load models, once.

    Raises Stopped if the load was stopped.
    """
    missing = [name for name in MODULES if name not in sys.modules]
    if not missing:
        return
    with loading(), collection_paused():
        begin_stage(LIBRARIES)
        for name in missing:
            check_stop()
            import_module(name)
        gc.freeze()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector inside this context.

    Imports create about a million permanent objects, which the collector would visit repeatedly;
    this takes a quarter of the import time. At the end, `gc.freeze` excludes these objects from
    collection.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
