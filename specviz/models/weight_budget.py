"""Bounds what a network may register while it is built, and lets a load be stopped.

A config comes with the files and may announce anything. torch calls a hook for every parameter and
buffer that a module gets, so a network that grows beyond what its files hold is stopped on its way,
whatever its architecture makes of its config.
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
from specviz.models.load_progress import WEIGHTS, advance, begin
from specviz.models.weight_headers import StoredWeights

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig

SLACK: Final = 1 << 22  # elements: a few weights that are missing have a sentence of their own
SLACK_TENSORS: Final = 256
TENSORS: Final = 4  # parameters for each stored tensor, which a network may split
TIED: Final = 2  # a network registers tied weights twice before it ties them
BUFFERS: Final = 1 << 26  # bytes of tables that are computed, such as masks, in small models too


@dataclass(slots=True)
class _Budget:
    """What may still be registered. name: of the model, for the sentence."""

    name: str
    held: StoredWeights
    elements: int
    tensors: int
    buffers: int

    def check(self) -> None:
        if min(self.elements, self.tensors, self.buffers) < 0:
            raise too_large(self.name, self.held)


_BUDGET: ContextVar[_Budget | None] = ContextVar("budget", default=None)
_STOP: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


def too_large(name: str, held: StoredWeights) -> Unsuitable:
    """That a config announces more than the weight files hold."""
    return Unsuitable(
        f"{name!r} announces a larger network in its config than its weight files hold: they have "
        f"{held.elements:,} numbers in {held.tensors:,} tensors."
    )


@contextmanager
def limited_to(name: str, held: StoredWeights) -> Iterator[None]:
    """Within, modules that this thread builds have no more weights than `held`, with some slack.

    Raises Unsuitable, calling the model `name`, from the constructor that goes beyond it.
    """
    _register_hooks()
    buffers = BUFFERS + 4 * held.elements
    elements = TIED * (held.elements + SLACK)
    budget = _Budget(name, held, elements, TENSORS * held.tensors + SLACK_TENSORS, buffers)
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


@contextmanager
def stoppable(stop: Callable[[], bool]) -> Iterator[None]:
    """Within, loading in this thread ends with Stopped soon after `stop` says so.

    It is asked at every weight that a network gets, and between the stages of a load.
    """
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stop() -> None:
    """Raise Stopped where whoever waits for a load has asked to end it."""
    stop = _STOP.get()
    if stop is not None:
        _register_hooks()
        if stop():
            raise Stopped("Loading was stopped.")


def begin_weights(size: int) -> None:
    """Announce the reading of so many bytes, of which each weight in memory counts its own."""
    _register_hooks()
    begin(WEIGHTS, size)


def check_size(name: str, config: PreTrainedConfig, network: Any, held: StoredWeights) -> int:
    """How many weights a config's network has. Raises Unsuitable for more than are `held`.

    network: makes the model of a config, such as `AutoModelForCausalLM.from_config`. It is built
    on torch's meta device, where tensors have shapes and no memory.
    """
    import torch

    from specviz.adapters.transformers import without_initialization

    with limited_to(name, held), torch.device("meta"), without_initialization():
        try:
            model = network(config)
            model.tie_weights()  # else a tied output head counts twice
        except (OverflowError, MemoryError) as error:
            raise too_large(name, held) from error
        except RuntimeError as error:
            if "overflow" in str(error).lower():
                raise too_large(name, held) from error
            raise
    weights: int = sum(weight.numel() for weight in model.parameters())
    if weights > held.elements + SLACK:
        raise too_large(name, held)
    return weights


@cache
def _register_hooks() -> None:
    """Once, and for good: hooks that come and go would disturb modules built in other threads."""
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
