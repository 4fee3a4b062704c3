"""What a job tells the page while it runs: lines of JSON, sent several at a time."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, sleep
from typing import Any, Final, Literal

import gradio as gr

from specviz.adapters.spaces import ZEROGPU

Source = Literal["recorded", "live"]


def line(kind: str, data: dict[str, Any]) -> str:
    """One line of JSON with its newline."""
    return json.dumps({"kind": kind} | data, separators=(",", ":"), allow_nan=False) + "\n"


def error(sentence: str, nonce: str) -> str:
    """The line that says why there is no run."""
    return line("error", {"sentence": sentence, "id": nonce})


def state(name: str, nonce: str, **more: float) -> str:
    """The line that says what the visitor waits for, or how the job ended."""
    return line("state", {"state": name, "id": nonce} | more)


FIRST: Final = 2  # the line that is sent at once with those before it: the first round
PAUSE: Final = 1.0  # seconds between later sendings
# Seconds that a browser may take to draw what it was sent, and cores for it. A GPU that was lent
# has no browser beside it.
DRAWING: Final = 0.0 if ZEROGPU else 0.3


SHORT: Final = (
    "The machine ran out of memory in this run: ask for fewer new tokens, or take a smaller model."
)

log = logging.getLogger(__name__)


def paced(told: Iterable[str]) -> Iterator[str]:
    """A run's lines as they are sent: the first round at once, later ones several at a time.

    Nothing is computed while the page draws, since it may do so on the cores that are timed; all
    clocks are closed between lines. What was told before something broke is not kept back.
    """
    sent, held = perf_counter(), ""
    try:
        for number, text in enumerate(told):
            held += text
            if number == FIRST or perf_counter() - sent > PAUSE:
                yield held
                held = ""
                sleep(DRAWING)
                sent = perf_counter()
    except Exception:
        if held:
            yield held
        raise
    if held:
        yield held


class Stream:
    """One job as the page hears it: text that only grows, lines of JSON, states among them.

    States say what the visitor waits for: "queued" (place: how many runs come first), "lending"
    (seconds: for which a GPU is asked), "loading", "drafting". The last line is the state "done",
    "stopped" or "overdue" (seconds: the limit it reached), or an error's sentence. One that is
    "queued" again has given way, and says "resumed" when it goes on.
    """

    def __init__(self, nonce: str, send: Callable[[str], None]) -> None:
        self.nonce = nonce
        self._send = send
        self.told = ""  # all of it so far

    def queued(self, ahead: int) -> None:
        """So many runs come first; 0 where it goes on after those that it let go first."""
        if ahead:
            self.say("queued", place=ahead)
        else:
            self.say("resumed")

    def say(self, name: str, **more: float) -> None:
        """A state."""
        self.tell(state(name, self.nonce, **more))

    def fail(self, problem: Exception) -> None:
        """Why there is no run, or no more of it."""
        self.tell(error(explained(problem), self.nonce))

    def tell(self, text: str) -> None:
        """Whole lines, sent at once."""
        self.told += text
        self._send(self.told)


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
    return "Something broke in this run. The server's log says what; try another."


def out_of_memory(problem: Exception) -> bool:
    """Whether memory ran out, while a model was loaded or in the midst of a run."""
    if "torch" not in sys.modules:
        return isinstance(problem, MemoryError)
    from specviz.models.devices import NotEnoughMemory, ran_out_of_memory

    return isinstance(problem, NotEnoughMemory) or ran_out_of_memory(problem)


def relief() -> str:
    """What was unloaded, and what would fit. Memory may be too short to say so."""
    try:
        from specviz.catalog.room import relieved

        return relieved()
    except Exception as problem:
        log.warning("nothing could be unloaded: %r", problem)
        return ""
