"""What computes with models: every task of the page goes through `perform`, in every home.

On ZeroGPU each call of it runs in a process with a GPU, forked from this one; what goes in and what
comes out is pickled on the way, and a process in which something was raised is given up. So a task
is plain data, loads its models itself, and yields text, what went wrong too. Elsewhere the same
generator runs where it is called, in the thread of all that computes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specviz.adapters.spaces import ZEROGPU, gpu_task
from specviz.models.files import Stopped
from specviz.models.weight_budget import stoppable
from specviz.ui.halt import Halt
from specviz.ui.request import HOUSE
from specviz.ui.stream import explained, state

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target

# Seconds for which a GPU is asked, several times what is expected: who takes longer is cut off.
BEGINNING: Final = 10.0  # a new process's first use of a GPU
LOADING: Final = 20.0  # of a target that is no house model, and so is not loaded beforehand
TOKEN: Final = 1 / 16  # by drafting or plainly
HOUSE_TOKEN: Final = 1 / 48


@dataclass(frozen=True, slots=True)
class Machine:
    """Where live runs compute."""

    device: str | None = None
    dtype: str | None = None

    def load(self, target: str, drafters: Sequence[str]) -> tuple[Target, list[Drafter]]:
        """The loaded models, drafters in the order asked for. Raises the catalogue's refusals."""
        from specviz.models.libraries import start_libraries

        start_libraries()
        from specviz.catalog.loading import load_drafter, load_target

        loaded = load_target(target, self.device, self.dtype)
        return loaded, [load_drafter(name, loaded) for name in drafters]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a task is done. nonce: names the job on the page. unwanted: whether to end it, asked
    between its parts.
    """

    machine: Machine
    nonce: str
    unwanted: Halt

    def load(self, target: str, drafters: Sequence[str]) -> tuple[Target, list[Drafter]]:
        """See `Machine.load`. On a CPU, with as many threads as suit it just now.

        Raises Stopped soon after the job is unwanted.
        """
        with stoppable(self.unwanted):
            loaded, drafting = self.machine.load(target, drafters)
        from specviz.models.threads import choose_threads

        if loaded.device.type == "cpu":
            choose_threads()
        return loaded, drafting

    def says(self, name: str) -> str:
        """The line of a state, such as "loading"."""
        return state(name, self.nonce)


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of models, as data that can be pickled.

    tell: does it, yielding whole lines that are to be sent at once: a function of a module, with
    what is asked bound to it by `partial`. It ends soon after `Desk.unwanted`. seconds: for which
    it asks for a GPU, where they are lent.
    """

    tell: Callable[[Desk], Iterator[str]]
    seconds: float


def lasting(target: str, tokens: float) -> float:
    """Seconds for which a task asks for a GPU that decodes so many tokens in all."""
    if target == HOUSE:
        return BEGINNING + tokens * HOUSE_TOKEN
    return BEGINNING + LOADING + tokens * TOKEN


class Failure(str):
    """Instead of a line, the sentence that says why there is none, or no more."""

    __slots__ = ()


def performed(desk: Desk, task: Task) -> Generator[str, None, None]:
    """What a task yields; the last text is a Failure if anything was raised.

    Empty texts mark where a task may be interrupted, which no task on ZeroGPU is.
    """
    try:
        for text in task.tell(desk):
            if text or not ZEROGPU:
                yield text
    except Stopped:  # while it loaded: whoever stopped it knows
        return
    except Exception as problem:
        yield Failure(explained(problem))


Performs = Callable[[Desk, Task], Generator[str, None, None]]
perform: Final[Performs] = gpu_task(lambda _, task: task.seconds)(performed)
