"""Run tasks that need models; every task of the page goes through `perform`.

On ZeroGPU, each call runs in a forked process with a GPU: arguments and results are pickled, and a
process that raises an exception is discarded. So a task is plain data, loads its models itself, and
yields texts, even for errors. Elsewhere, the same generator runs in the worker thread.

A job that is stopped sets a flag in memory shared with the forked process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from mmap import mmap
from typing import TYPE_CHECKING, Final

from specviz.adapters.spaces import ZEROGPU, gpu_task
from specviz.models.errors import Stopped
from specviz.models.load_control import stoppable
from specviz.ui.request import HOUSE
from specviz.ui.stream import explained, state

if TYPE_CHECKING:
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target


def format_duration(seconds: float) -> str:
    """Return seconds in words: "5 minutes", "90 seconds"."""
    whole = round(seconds)
    number, unit = (whole // 60, "minute") if whole % 60 == 0 else (whole, "second")
    return f"{number:,} {unit}{'s' if number != 1 else ''}"


def too_long(limit: float) -> str:
    """Return the sentence for a job that reached its time limit, in seconds, without any output."""
    most = format_duration(limit)
    return f"The run ended before its first result: a job may compute for {most} at most here."


def limit_text(limit: float) -> str:
    """Return the note that is shown before a job about its time limit, in seconds."""
    turns = "" if ZEROGPU else ", in short turns while others wait"
    most = f"A job may compute for {format_duration(limit)} at most here"
    return f"{most}{turns}. What is finished by then is kept."


BYTES: Final = mmap(-1, 4096)  # anonymous memory, which a fork shares instead of copying it
NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class StopFlag:
    """The stop flag of one job, initially not set; index: of its byte in shared memory."""

    index: int = field(default_factory=lambda: next(NUMBERS) % len(BYTES))

    def set(self, wanted: bool) -> None:
        """Set or clear the flag."""
        BYTES[self.index] = wanted

    def __call__(self) -> bool:
        """Return whether the job should end, which it checks between its steps."""
        return bool(BYTES[self.index])


# GPU seconds to request; several times the expected seconds, since longer tasks are cut off.
BEGINNING: Final = 10.0  # first use of a GPU by a new process
LOADING: Final = 20.0  # loading of targets other than House, which is preloaded
TOKEN: Final = 1 / 16  # decoding of one token with drafting, or plain
HOUSE_TOKEN: Final = 1 / 48


@dataclass(frozen=True, slots=True)
class Machine:
    """The device and dtype of live runs."""

    device: str | None = None
    dtype: str | None = None

    def load(self, target: str, drafters: Sequence[str]) -> tuple[Target, list[Drafter]]:
        """Load models, the drafters in the given order; raises the exceptions of the catalogue."""
        from specviz.models.load_control import start_libraries

        start_libraries()
        from specviz.catalog.loading import load_drafter, load_target

        loaded = load_target(target, self.device, self.dtype)
        return loaded, [load_drafter(name, loaded) for name in drafters]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a task needs while it runs."""

    machine: Machine
    nonce: str
    unwanted: StopFlag

    def load(self, target: str, drafters: Sequence[str]) -> tuple[Target, list[Drafter]]:
        """Load models like `Machine.load`, and choose threads on a CPU.

        Raises Stopped soon after `unwanted` returns True.
        """
        with stoppable(self.unwanted):
            loaded, drafting = self.machine.load(target, drafters)
        from specviz.models.threads import choose_threads

        if loaded.device.type == "cpu":
            choose_threads()
        return loaded, drafting

    def says(self, name: str) -> str:
        """Return a status line, such as "loading"."""
        return state(name, self.nonce)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as data that can be pickled.

    Attributes:
        run: Runs the task and yields whole lines: a module-level function with arguments bound by
            `partial`. It ends soon after `JobContext.unwanted` returns True.
        seconds: The GPU seconds to request on ZeroGPU.
        transform: Converts texts that are not paced, in the server's process, before they are sent
            to the page.
    """

    run: Callable[[JobContext], Iterator[str]]
    seconds: float
    transform: Callable[[str], str] = str


def gpu_seconds(target: str, tokens: float) -> float:
    """Return the GPU seconds to request for a task that decodes this many tokens."""
    if target == HOUSE:
        return BEGINNING + tokens * HOUSE_TOKEN
    return BEGINNING + LOADING + tokens * TOKEN


class Failure(str):
    """The error sentence of a failed task, yielded instead of a line."""

    __slots__ = ()


def performed(context: JobContext, task: Task) -> Generator[str, None, None]:
    """Run a task and yield its texts; if it raises an exception, yield a Failure last.

    Empty texts mark where a task may be interrupted; on ZeroGPU, tasks are not interrupted.
    """
    try:
        for text in task.run(context):
            if text or not ZEROGPU:
                yield text
    except Stopped:  # the visitor stopped it while models were loaded
        return
    except (GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as problem:  # such as a panic of a tokenizer, which is no Exception
        yield Failure(explained(problem))


Performs = Callable[[JobContext, Task], Generator[str, None, None]]
perform: Final[Performs] = gpu_task(lambda _, task: task.seconds)(performed)
