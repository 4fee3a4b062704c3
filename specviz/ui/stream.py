"""What a job tells the page while it runs: lines of JSON, sent several at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from time import perf_counter, sleep
from typing import Any, Final, Literal

Source = Literal["recorded", "live"]


def line(kind: str, data: dict[str, Any]) -> str:
    """One line of JSON with its newline."""
    return json.dumps({"kind": kind} | data, separators=(",", ":"), allow_nan=False) + "\n"


def error(sentence: str, nonce: str) -> str:
    """The line that says why there is no run."""
    return line("error", {"sentence": sentence, "id": nonce})


FIRST: Final = 2  # the line that is sent at once with those before it: the first round
PAUSE: Final = 1.0  # seconds between later sendings
DRAWING: Final = 0.3  # seconds that a browser may take to draw what it was sent, and cores for it


log = logging.getLogger(__name__)


class Stream:
    """One job as the page hears it: text that only grows, lines of JSON, states among them.

    States say what the visitor waits for: "queued" (place: how many runs come first), "loading",
    "drafting". The last line is the state "done" or "stopped", or an error's sentence.
    """

    def __init__(self, nonce: str, send: Callable[[str], None]) -> None:
        self.nonce = nonce
        self._send = send
        self._told = ""

    def queued(self, ahead: int) -> None:
        """So many runs come first."""
        self.say("queued", place=ahead)

    def say(self, state: str, **more: int) -> None:
        """A state, sent at once."""
        self.tell(line("state", {"state": state, "id": self.nonce} | more))

    def fail(self, problem: Exception) -> None:
        """Why there is no run, or no more of it."""
        self.tell(error(explained(problem), self.nonce))

    def hint(self, sentence: str | None) -> None:
        """Something to know about the run that was made, if there is anything."""
        if sentence:
            self.tell(line("hint", {"sentence": sentence}))

    def run(self, told: Iterable[str]) -> None:
        """The run's lines: the first round at once, later ones several at a time.

        Nothing is computed while the page draws, since it may do so on the cores that are timed;
        all clocks are closed between lines.
        """
        sent = perf_counter()
        for number, text in enumerate(told):
            self._told += text
            if number == FIRST or perf_counter() - sent > PAUSE:
                self._send(self._told)
                sleep(DRAWING)
                sent = perf_counter()

    def tell(self, text: str) -> None:
        """Whole lines, sent at once."""
        self._told += text
        self._send(self._told)


def explained(problem: Exception) -> str:
    """What to tell a visitor: a refusal's own sentence; anything else goes to the log."""
    if isinstance(problem, ValueError):  # every refusal is one, with a sentence for people
        return str(problem)
    log.error("a live run broke", exc_info=problem)
    return broke(problem)


def broke(problem: Exception) -> str:
    """What to tell a visitor about a fault that is no refusal."""
    from specviz.models.devices import ran_out_of_memory

    if ran_out_of_memory(problem):
        return "The machine ran out of memory in this run. Fewer new tokens, or a smaller model."
    return "Something broke in this run. The server's log says what; try another."
