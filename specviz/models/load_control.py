"""Control a load: import torch and transformers, limit the size of a network, stop on request.

A config comes with the files and may claim any size. torch calls a hook for every parameter and
buffer that a module registers. The hooks here stop the construction of a network that is larger
than its weight files, whatever its architecture. The same hooks let a load be stopped.

Importing the libraries is the first stage of a load; for small models it is the longest.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from specviz.models.errors import Unsuitable
from specviz.models.file_checks import StoredWeights
from specviz.models.files import Stopped
from specviz.models.load_progress import LIBRARIES, WEIGHTS, advance, begin_stage, loading

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig


SLACK: Final = 1 << 22  # elements: a few missing weights are allowed here and reported later
SLACK_TENSORS: Final = 256
TENSORS: Final = 4  # parameters per stored tensor: a network may split one
TIED: Final = 2  # tied weights are registered twice before they are tied
BUFFERS: Final = 1 << 26  # bytes that any network may use for computed tables, such as masks


@dataclass(slots=True)
class _Budget:
    """The budget of a network that is being built.

    Attributes:
        name: The model's name, for errors.
        stored: Size of the weight files.
        elements: Elements of parameters that may still be registered.
        tensors: Parameters that may still be registered.
        buffers: Bytes of buffers that may still be registered.
    """

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
    """Limit the modules that this thread builds to about the size of the weight files.

    Args:
        name: The model's name, for errors.
        stored: Size of the weight files.

    Raises:
        Unsuitable: From the constructor that exceeds the limit.
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
    """Make loads in this thread raise Stopped soon after `stop` returns True.

    `stop` is called for every weight that a network registers, and between the stages of a load.
    """
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stop() -> None:
    """Check that the load was not cancelled.

    Raises:
        Stopped: It was cancelled.
    """
    stop = _STOP.get()
    if stop is not None:
        _register_hooks()
        if stop():
            raise Stopped("Loading was stopped.")


def begin_weights(size: int) -> None:
    """Begin the stage that reads `size` bytes of weights; each registered weight advances it."""
    _register_hooks()
    begin_stage(WEIGHTS, size)


def check_size(name: str, config: PreTrainedConfig, network: Any, stored: StoredWeights) -> int:
    """Return the number of weights in a config's network, without allocating them.

    The network is built on torch's meta device, where tensors have a shape but no memory.

    Args:
        name: The model's name, for errors.
        config: The config.
        network: Builds a model from a config, such as `AutoModelForCausalLM.from_config`.
        stored: Size of the weight files.

    Raises:
        Unsuitable: The network has more weights than the files.
    """
    import torch

    from specviz.adapters.transformers import without_initialization

    with limited_to(name, stored), torch.device("meta"), without_initialization():
        try:
            model = network(config)
            model.tie_weights()  # otherwise a tied output head counts twice
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
    """Register the hooks once; adding and removing them would disturb other threads."""
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


# Imported in this order. A load can be stopped between two of them.
MODULES: Final = ("torch", "transformers.modeling_utils", "specviz.models.checkpoint")


def start_libraries() -> None:
    """Import everything that is needed to load models. Does nothing the second time.

    Raises:
        Stopped: The load was stopped.
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
    """Pause Python's garbage collector.

    Imports create about a million permanent objects. The collector would visit them again and
    again, which takes a quarter of the import time; afterwards `gc.freeze` excludes them.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
