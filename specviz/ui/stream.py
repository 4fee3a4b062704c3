"""The output of a running job for the page: JSON Lines, sent in batches."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

import gradio as gr

from specviz.adapters.spaces import ZEROGPU
from specviz.catalog.entry import title_of

if TYPE_CHECKING:
    from specviz.models.load_progress import LoadStage
    from specviz.ui.queue import Position

Source = Literal["recorded", "live"]


def line(kind: str, data: dict[str, Any]) -> str:
    """One line of JSON with its newline."""
    return json.dumps({"kind": kind} | data, separators=(",", ":"), allow_nan=False) + "\n"


def error(sentence: str, nonce: str) -> str:
    """Return the line with the reason why there is no run."""
    return line("error", {"sentence": sentence, "id": nonce})


def state(name: str, nonce: str, **more: float | str) -> str:
    """Return a status line: what the visitor waits for, or how the job ended."""
    return line("state", {"state": name, "id": nonce} | more)


STATE: Final = '{"kind":"state"'  # how such a line begins


FIRST: Final = 3  # lines of the first batch, which ends with the first round
PAUSE: Final = 1.0  # seconds of computing after which a job flushes its buffer
# Seconds for which a job pauses after it has sent rounds, since the browser draws them and may do
# so on the cores that are timed. On ZeroGPU no browser shares the machine.
DRAWING: Final = 0.0 if ZEROGPU else 0.3


SHORT: Final = "The machine ran out of memory: ask for fewer new tokens, or choose a smaller model."

log = logging.getLogger(__name__)


class Paced(str):
    """Lines to buffer and send in a batch, after which the job pauses."""

    __slots__ = ()


class BaselineNext(Paced):
    """The last lines before a job measures plain decoding, which has a lower priority."""

    __slots__ = ()


def paced(lines: Iterable[str]) -> Iterator[str]:
    """Mark a job's lines as `Paced`.

    An empty text marks only that the job may be interrupted there.
    """
    for text in lines:
        yield text if isinstance(text, Paced) else Paced(text)


class Stream:
    """Append-only JSON Lines output of one job, including its status lines.

    Status lines name what the visitor waits for: "queued" (with `queue.Position`), "lending" (with
    the seconds for which a GPU is requested), "loading" (with `load_facts`, if the load takes
    longer than an instant) or "drafting". The last line is "done", "stopped", "overdue" (with the
    time limit in seconds) or an error. A job that is "queued" after it has begun shares the models
    with others, and sends "resumed" once it is alone again.

    Attributes:
        text: All output that was sent.
        begun: Whether more than status lines was sent, or enough is buffered to do so.
    """

    def __init__(self, nonce: str, send: Callable[[str], None]) -> None:
        self.nonce = nonce
        self._send = send
        self.text = ""
        self.begun = False
        self._held = ""
        self._lines = 0  # buffered so far, sent or not
        self._due = False
        self._sent = perf_counter()
        self._takes_turns = False
        self._load: dict[str, float | str] = {}  # the load's last status
        self._lock = RLock()

    def queued(self, position: Position) -> None:
        """Send the position in the queue, and the estimated seconds if there are any."""
        self._takes_turns |= self.begun
        known = position.seconds is not None and round(position.seconds) > 0
        more = {"seconds": round(position.seconds or 0)} if known else {}
        self.say("queued", place=position.place, **more)

    def resumed(self) -> None:
        """Send that the job no longer takes turns with others, if it did."""
        if self._takes_turns:
            self._takes_turns = False
            self.say("resumed")

    def say(self, name: str, **more: float | str) -> None:
        """Send a status line."""
        self._append(state(name, self.nonce, **more))

    def loading(self, stage: Callable[[], LoadStage | None]) -> None:
        """Send the progress of a load, unless it is over or unchanged. Thread-safe."""
        with self._lock:  # keeps later output behind this line
            if (now := stage()) is not None and (facts := load_facts(now)) != self._load:
                self._load = facts
                self.say("loading", **facts)

    def fail(self, problem: Exception) -> None:
        """Send the reason why the run failed."""
        self._append(error(explained(problem), self.nonce))

    def write(self, text: str) -> None:
        """Send whole lines at once."""
        self.begun |= not text.startswith(STATE)
        self._append(text)

    def hold(self, text: str) -> None:
        """Buffer whole lines until `flush`, which sends the first round without delay."""
        with self._lock:
            self._held += text
        self._lines += bool(text)
        if not self.begun and self._lines >= FIRST:
            self.begun = self._due = True
        self._due |= isinstance(text, BaselineNext)
        if ZEROGPU:
            self.flush()  # elsewhere the end of a turn calls it

    def flush(self) -> bool:
        """Send the buffer if it is due, and return whether something was sent."""
        if not self._held or not (self._due or perf_counter() - self._sent > PAUSE):
            return False
        self._append("")
        return True

    def release(self) -> None:
        """Move the buffer to `text`; it is sent with the next text."""
        self.text += self._held
        self._held, self._due = "", False

    def _append(self, text: str) -> None:
        with self._lock:
            self.release()
            self.text += text
            self._sent = perf_counter()
            self._send(self.text)


def load_facts(stage: LoadStage) -> dict[str, float | str]:
    """Convert a stage of a load for the page: bytes if they are counted, and whole seconds."""
    facts: dict[str, float | str] = {"stage": stage.title}
    if stage.model:
        facts["model"] = title_of(stage.model)
    if stage.total:
        facts |= {"done": stage.done, "of": stage.total}
    left = stage.left
    return facts | ({"spent": int(stage.spent)} if left is None else {"left": ceil(left)})


def explained(problem: Exception) -> str:
    """Return an error's sentence for the visitor; unexpected errors go to the log."""
    if isinstance(problem, gr.Error):  # it has its sentence already
        return str(problem.message)
    refusal = isinstance(problem, ValueError)  # the project raises ValueErrors with a sentence
    if not refusal:
        log.error("a live run broke", exc_info=problem)
    if out_of_memory(problem):
        return f"{problem if refusal else SHORT} {relief()}".rstrip()
    if refusal:
        return str(problem)
    return "An error on the server ended this run; its log has the details. Try another run."


def out_of_memory(problem: Exception) -> bool:
    """Whether memory ran out, during a load or a run."""
    if "torch" not in sys.modules:
        return isinstance(problem, MemoryError)
    from specviz.models.devices import NotEnoughMemory, ran_out_of_memory

    return isinstance(problem, NotEnoughMemory) or ran_out_of_memory(problem)


def relief() -> str:
    """Unload a model, and return sentences on that and on models that would fit.

    Empty if even that fails for lack of memory.
    """
    try:
        from specviz.catalog.loading import unload_and_suggest

        return unload_and_suggest()
    except Exception as problem:
        log.warning("nothing could be unloaded: %r", problem)
        return ""
