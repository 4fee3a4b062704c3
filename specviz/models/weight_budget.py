"""Limit what a network may register while it is built, and let a load be stopped.

A config comes with the files and may announce anything. torch calls a hook for every parameter and
buffer that a module registers, so a network that grows beyond what its files hold is stopped while
it is built, whatever its architecture makes of its config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from specviz.models.errors import Unsuitable
from specviz.models.files import Stopped
from specviz.models.load_progress import WEIGHTS, advance, begin_stage
from specviz.models.weight_files import StoredWeights

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig

SLACK: Final = 1 << 22  # elements: a few missing weights are reported elsewhere
SLACK_TENSORS: Final = 256
TENSORS: Final = 4  # parameters per stored tensor: a network may split one
TIED: Final = 2  # a network registers tied weights twice before it ties them
BUFFERS: Final = 1 << 26  # bytes of computed tables, such as masks, which small models have too


@dataclass(slots=True)
class _Budget:
    """The budget of a network that is being built.

    Attributes:
        name: The model's name, for errors.
        stored: Size of the weight files.
        elements: Numbers of parameters left.
        tensors: Parameters left.
        buffers: Bytes of buffers left.
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
    """Return the error for a config that announces more than the weight files hold."""
    return Unsuitable(
        f"The config of {name!r} announces a larger network than its weight files hold: they have "
        f"{stored.elements:,} numbers in {stored.tensors:,} tensors."
    )


@contextmanager
def limited_to(name: str, stored: StoredWeights) -> Iterator[None]:
    """Limit the modules that this thread builds to the weights that files hold, with some slack.

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
    """Let loads in this thread end with Stopped soon after `stop` returns True.

    It is called at every weight that a network registers, and between the stages of a load.
    """
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stop() -> None:
    """Check whether the load should end.

    Raises:
        Stopped: It should.
    """
    stop = _STOP.get()
    if stop is not None:
        _register_hooks()
        if stop():
            raise Stopped("Loading was stopped.")


def begin_weights(size: int) -> None:
    """Begin the stage that reads `size` bytes; each weight in memory advances it."""
    _register_hooks()
    begin_stage(WEIGHTS, size)


def check_size(name: str, config: PreTrainedConfig, network: Any, stored: StoredWeights) -> int:
    """Return how many weights a config's network has, without allocating them.

    It is built on torch's meta device, where tensors have shapes and no memory.

    Args:
        name: The model's name, for errors.
        config: The config.
        network: Builds the model of a config, such as `AutoModelForCausalLM.from_config`.
        stored: Size of the weight files.

    Raises:
        Unsuitable: The network has more weights than that.
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
