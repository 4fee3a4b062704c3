"""The output of a job for the page: lines of JSON, each sent once to every reader.

A job writes lines in its thread, in batches. Readers receive them on the server's event loop, each
from the line that it requests, so a reader that lost the connection or reloads its page continues
where it was.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.catalog.entry import title_of

if TYPE_CHECKING:
    from specviz.models.load_control import LoadStage
    from specviz.ui.queue import Position

Source = Literal["recorded", "live"]


class StateLine(TypedDict):
    """A status line: what the visitor waits for, or how the job ended.

    Attributes:
        state: "queued", "resumed", "lending", "loading", "done", "stopped", "overdue", or another
            one that only one section has.
        place: How many jobs come first; for a job that has begun, how many others it takes turns
            with.
        seconds: For "queued", an estimate of the waiting time.
        stage: For "loading", as are all following fields; see `load_facts`.
    """

    kind: Literal["state"]
    id: str
    state: str
    place: NotRequired[int]
    seconds: NotRequired[float]
    stage: NotRequired[str]
    model: NotRequired[str]
    done: NotRequired[int]
    of: NotRequired[int]
    left: NotRequired[int]
    spent: NotRequired[int]


class ErrorLine(TypedDict):
    """Why a job failed."""

    kind: Literal["error"]
    id: str
    sentence: str


class Progress(TypedDict):
    """How far a job is that `live.job_view` shows.

    Attributes:
        of: How much there is; 0 if unknown.
        end: A sentence that stays after the job.
    """

    kind: Literal["progress"]
    id: str
    done: int
    of: int
    sentence: str
    result: NotRequired[Mapping[str, Any]]
    end: NotRequired[str]


def line(kind: str, data: Mapping[str, object]) -> str:
    """Return one line of JSON with its newline."""
    return json.dumps({"kind": kind} | dict(data), separators=(",", ":"), allow_nan=False) + "\n"


def progress(
    nonce: str,
    done: int,
    of: int,
    sentence: str,
    result: Mapping[str, Any] | None = None,
    end: str = "",
) -> str:
    """Return a line of a job with the facts of `Progress`."""
    at = Progress(kind="progress", id=nonce, done=done, of=of, sentence=sentence)
    if result is not None:
        at["result"] = result
    if end:
        at["end"] = end
    return line(at["kind"], at)


def error(sentence: str, nonce: str) -> str:
    """Return the line with the reason why there is no run."""
    return line("error", {"sentence": sentence, "id": nonce})


def state(name: str, nonce: str, **more: float | str) -> str:
    """Return a status line: what the visitor waits for, or how the job ended."""
    return line("state", {"state": name, "id": nonce, **more})


STATE: Final = '{"kind":"state"'  # beginning of such a line
BEAT: Final = 10.0  # seconds without a line after which a reader gets an empty batch
BATCH: Final = 64  # maximum number of lines
ABSENT: Final = 6.0  # seconds without a reader after which a job is stopped; reloading takes less


FIRST: Final = 3  # maximum lines in the first batch, which ends with the first round
PAUSE: Final = 1.0  # seconds of computing after which a job flushes its buffer
# Seconds for which a job pauses after it has sent rounds, since the browser draws them, possibly on
# the cores that are timed. On ZeroGPU, no browser runs on the same machine.
DRAWING: Final = 0.0 if ZEROGPU else 0.3


SHORT: Final = "The machine ran out of memory: ask for fewer new tokens, or choose a smaller model."

log = logging.getLogger(__name__)


class Paced(str):
    """Lines that are buffered and sent in a batch, after which the job pauses."""

    __slots__ = ()


class BaselineNext(Paced):
    """Marks the last lines of a job's main part; the baseline then follows at lower priority."""

    __slots__ = ()


def paced(lines: Iterable[str]) -> Iterator[str]:
    """Mark a job's lines as `Paced`; at empty texts it may be interrupted."""
    for text in lines:
        yield text if isinstance(text, Paced) else Paced(text)


class Stream:
    """The lines of one job, including status lines.

    Status lines say what the visitor waits for: "queued" (with `queue.Position`), "lending" (with
    the seconds for which a GPU is requested), "loading" (with `load_facts`, if the load takes
    longer than an instant) or "drafting". The last line is "done", "stopped", "overdue" (with the
    time limit in seconds) or an error. If a job that has begun takes turns with others, it is
    "queued" again, and "resumed" when it is the only one.

    Attributes:
        lines: All lines that were sent, without their newlines.
        begun: Whether more than status lines was sent, or enough is buffered to be sent.
        stopped: Whether the visitor has stopped the job, or has left.
        sent: When the last batch was sent, by the performance counter.
    """

    def __init__(self, visitor: str, nonce: str) -> None:
        self.visitor = visitor
        self.nonce = nonce
        self.lines: list[str] = []
        self.begun = self.stopped = self.over = False
        self._held: list[str] = []
        self._count = 0  # buffered so far, whether sent or not
        self._due = False
        self.sent = perf_counter()
        self.readers = 0
        self._takes_turns = False
        self._load: dict[str, float | str] = {}  # the last status of the load
        self._lock = RLock()
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._leaving: asyncio.TimerHandle | None = None
        self._on_stop: Callable[[], object] = lambda: None
        self._on_end: Callable[[], None] = lambda: None

    async def read(self, at: int = 0) -> AsyncIterator[list[str]]:
        """Yield the lines from `at` on, in batches; an empty one after BEAT seconds without any."""
        while True:
            changed, over = self._changed, self.over
            while batch := self.lines[at : at + BATCH]:
                at += len(batch)
                yield batch
            if over:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), BEAT)
            if not changed.is_set():
                yield []

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count a reader inside this context; a job without any for ABSENT seconds is stopped."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            self.expect_reader()

    def expect_reader(self) -> None:
        """Stop the job ABSENT seconds from now if it has no reader then."""
        if self._leaving is not None:
            self._leaving.cancel()
        self._leaving = self._loop.call_later(ABSENT, self._end_if_absent)

    def _end_if_absent(self) -> None:
        if not self.readers:
            self.stop()

    def on_stop(self, stop: Callable[[], object]) -> None:
        """Register a callback that stops this job; called at once if it was already stopped."""
        self._on_stop = stop
        if self.stopped:
            stop()

    def on_end(self, act: Callable[[], None]) -> None:
        """Register a function that is called on the event loop after the last line was sent."""
        self._on_end = act

    def stop(self) -> None:
        """End the job soon; call this only on the event loop."""
        if not (self.stopped or self.over):
            self.stopped = True
            self._on_stop()

    def queued(self, position: Position) -> None:
        """Send the position in the queue, and the estimated seconds if there are any."""
        self._takes_turns |= self.begun
        known = position.seconds is not None and round(position.seconds) > 0
        more = {"seconds": round(position.seconds or 0)} if known else {}
        self.say("queued", place=position.place, **more)

    def resumed(self) -> None:
        """Send that the job no longer takes turns with others, if it did before."""
        if self._takes_turns:
            self._takes_turns = False
            self.say("resumed")

    def say(self, name: str, **more: float | str) -> None:
        """Send a status line."""
        self._append(state(name, self.nonce, **more))

    def loading(self, stage: Callable[[], LoadStage | None]) -> None:
        """Send the progress of a load, unless it is over or unchanged; thread-safe."""
        with self._lock:  # keeps later output after this line
            if (now := stage()) is not None and (facts := load_facts(now)) != self._load:
                self._load = facts
                self.say("loading", **facts)

    def end(self, name: str, **more: float | str) -> None:
        """Send the last line: how the job ended."""
        self.resumed()
        self._append(state(name, self.nonce, **more), last=True)

    def fail(self, problem: BaseException) -> None:
        """Send the last line: the reason why the run failed."""
        self._append(error(explained(problem), self.nonce), last=True)

    def write(self, text: str) -> None:
        """Send whole lines: `Paced` lines with the next flush, all others at once."""
        if isinstance(text, Paced):
            self._hold(text)
        elif text:
            self.begun |= not text.startswith(STATE)
            self._append(text)

    def _hold(self, text: str) -> None:
        # Whole lines wait for `flush`, which sends the first round without delay.
        with self._lock:
            self._held += split(text)
        self._count += bool(text)
        if not self.begun and self._count >= FIRST:
            self.begun = self._due = True
        self._due |= isinstance(text, BaselineNext)
        if ZEROGPU:
            self.flush()  # elsewhere, the end of a turn calls it

    def flush(self) -> bool:
        """Send the buffer if it is time to, and return whether something was sent."""
        if not self._held or not (self._due or perf_counter() - self.sent > PAUSE):
            return False
        self._append("")
        return True

    def _append(self, text: str, last: bool = False) -> None:
        with self._lock:
            if self.over:  # nothing follows the last line
                return
            self.lines += [*self._held, *split(text)]
            self._held, self._due = [], False
            self.sent = perf_counter()
            self.over = last
        with suppress(RuntimeError):  # the event loop has ended with the server
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self.over:
            act, self._on_end = self._on_end, lambda: None
            act()
        self._changed.set()
        self._changed = asyncio.Event()


def split(text: str) -> list[str]:
    """Split whole lines, which end with a newline."""
    return text.split("\n")[:-1]


def load_facts(stage: LoadStage) -> dict[str, float | str]:
    """Convert a stage of a load for the page: bytes, if they are counted, and whole seconds."""
    facts: dict[str, float | str] = {"stage": stage.title}
    if stage.model:
        facts["model"] = title_of(stage.model)
    if stage.total:
        facts |= {"done": stage.done, "of": stage.total}
    left = stage.left
    return facts | ({"spent": int(stage.spent)} if left is None else {"left": ceil(left)})


def explained(problem: BaseException) -> str:
    """Return an error's sentence for the visitor; unexpected errors go to the log."""
    if isinstance(problem, gr.Error):  # the exception already has a sentence
        return str(problem.message)
    refusal = isinstance(problem, ValueError)  # ValueErrors of this project have a sentence
    if not refusal:
        log.error("a live run broke", exc_info=problem)
    if out_of_memory(problem):
        return f"{problem if refusal else SHORT} {relief()}".rstrip()
    if refusal:
        return str(problem)
    return (
        "An error on the server ended this run; the server's log has the details. Try another run."
    )


def out_of_memory(problem: BaseException) -> bool:
    """Return whether memory ran out, during a load or a run."""
    if "torch" not in sys.modules:
        return isinstance(problem, MemoryError)
    from specviz.models.devices import NotEnoughMemory, ran_out_of_memory

    return isinstance(problem, NotEnoughMemory) or ran_out_of_memory(problem)


def relief() -> str:
    """Unload a model; return sentences on which, and which would fit in memory, if any."""
    try:
        from specviz.catalog.loading import unload_and_suggest

        return unload_and_suggest()
    except Exception as problem:
        log.warning("nothing could be unloaded: %r", problem)
        return ""
