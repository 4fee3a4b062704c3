"""What the page receives from a job while it runs: lines of JSON, sent several at a time."""

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
    """The line that says why there is no run."""
    return line("error", {"sentence": sentence, "id": nonce})


def state(name: str, nonce: str, **more: float | str) -> str:
    """The line that says what the visitor waits for, or how the job ended."""
    return line("state", {"state": name, "id": nonce} | more)


STATE: Final = '{"kind":"state"'  # how such a line begins


FIRST: Final = 3  # lines that are sent together as soon as they are there: up to the first round
PAUSE: Final = 1.0  # seconds of computing after which a job sends what it holds
# Seconds for which a job pauses after it has sent rounds, since the browser draws them and may do
# so on the cores that are timed. A GPU that was lent has no browser beside it.
DRAWING: Final = 0.0 if ZEROGPU else 0.3


SHORT: Final = "The machine ran out of memory: ask for fewer new tokens, or choose a smaller model."

log = logging.getLogger(__name__)


class Paced(str):
    """Lines that are sent together with others of the job, and after which it pauses."""

    __slots__ = ()


class BaselineNext(Paced):
    """The last lines before a job measures plain decoding, for which others need not wait."""

    __slots__ = ()


def paced(lines: Iterable[str]) -> Iterator[str]:
    """Mark a job's lines as `Paced`.

    An empty text marks only that the job may be interrupted there.
    """
    for text in lines:
        yield text if isinstance(text, Paced) else Paced(text)


class Stream:
    """Append-only JSON Lines output of one job, including its status lines.

    States say what the visitor waits for: "queued" (place and seconds: see `queue.Position`),
    "lending" (seconds: for which a GPU is requested), "loading" (see `load_facts`, once it takes
    longer than an instant), "drafting". The last line is the
    state "done", "stopped" or "overdue" (seconds: the limit it reached), or an error's sentence. A
    job that is "queued" after it has begun takes turns with others, and says "resumed" when it no
    longer does. begun: whether it has sent anything but states, or holds enough to send it.
    """

    def __init__(self, nonce: str, send: Callable[[str], None]) -> None:
        self.nonce = nonce
        self._send = send
        self.told = ""  # all of it so far
        self.begun = False
        self._held = ""
        self._lines = 0  # that were ever held
        self._due = False
        self._sent = perf_counter()
        self._takes_turns = False
        self._load: dict[str, float | str] = {}  # what was sent last of a load
        self._lock = RLock()

    def queued(self, position: Position) -> None:
        """Send the place in the queue, and the seconds if they are known."""
        self._takes_turns |= self.begun
        known = position.seconds is not None and round(position.seconds) > 0
        more = {"seconds": round(position.seconds or 0)} if known else {}
        self.say("queued", place=position.place, **more)

    def resumed(self) -> None:
        """Send that the job takes no turns any more, if that was said before."""
        if self._takes_turns:
            self._takes_turns = False
            self.say("resumed")

    def say(self, name: str, **more: float | str) -> None:
        """Send a state."""
        self._append(state(name, self.nonce, **more))

    def loading(self, stage: Callable[[], LoadStage | None]) -> None:
        """Send how far a load is, unless it is over or that was sent. From any thread."""
        with self._lock:  # so that nothing that follows the load is sent before
            if (now := stage()) is not None and (told := load_facts(now)) != self._load:
                self._load = told
                self.say("loading", **told)

    def fail(self, problem: Exception) -> None:
        """Send why there is no run, or no more of it."""
        self._append(error(explained(problem), self.nonce))

    def tell(self, text: str) -> None:
        """Send whole lines at once."""
        self.begun |= not text.startswith(STATE)
        self._append(text)

    def hold(self, text: str) -> None:
        """Take whole lines that `flush` sends; the first round is due as soon as it is there."""
        with self._lock:
            self._held += text
        self._lines += bool(text)
        if not self.begun and self._lines >= FIRST:
            self.begun = self._due = True
        self._due |= isinstance(text, BaselineNext)
        if ZEROGPU:
            self.flush()  # a job has no turns there, at whose ends others call this

    def flush(self) -> bool:
        """Send what is held if that is due; whether something was sent."""
        if not self._held or not (self._due or perf_counter() - self._sent > PAUSE):
            return False
        self._append("")
        return True

    def release(self) -> None:
        """Move all that is held to `told`; it is sent with the next text."""
        self.told += self._held
        self._held, self._due = "", False

    def _append(self, text: str) -> None:
        with self._lock:
            self.release()
            self.told += text
            self._sent = perf_counter()
            self._send(self.told)


def load_facts(stage: LoadStage) -> dict[str, float | str]:
    """What the page is sent of a load's stage: bytes where they are counted, whole seconds."""
    facts: dict[str, float | str] = {"stage": stage.title}
    if stage.model:
        facts["model"] = title_of(stage.model)
    if stage.total:
        facts |= {"done": stage.done, "of": stage.total}
    left = stage.left
    return facts | ({"spent": int(stage.spent)} if left is None else {"left": ceil(left)})


def explained(problem: Exception) -> str:
    """What to tell a visitor: a refusal's own sentence; anything else goes to the log."""
    if isinstance(problem, gr.Error):  # one that was explained where it arose
        return str(problem.message)
    refusal = isinstance(problem, ValueError)  # every one is, with a sentence for people
    if not refusal:
        log.error("a live run broke", exc_info=problem)
    if out_of_memory(problem):
        return f"{problem if refusal else SHORT} {relief()}".rstrip()
    if refusal:
        return str(problem)
    return "An error on the server ended this run; its log has the details. Try another run."


def out_of_memory(problem: Exception) -> bool:
    """Whether memory ran out, while a model was loaded or in the midst of a run."""
    if "torch" not in sys.modules:
        return isinstance(problem, MemoryError)
    from specviz.models.devices import NotEnoughMemory, ran_out_of_memory

    return isinstance(problem, NotEnoughMemory) or ran_out_of_memory(problem)


def relief() -> str:
    """What was unloaded, and what would fit. Memory may be too short to say so."""
    try:
        from specviz.catalog.loading import unload_and_suggest

        return unload_and_suggest()
    except Exception as problem:
        log.warning("nothing could be unloaded: %r", problem)
        return ""
