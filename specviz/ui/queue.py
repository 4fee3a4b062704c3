"""The line that runs wait in: one computes at a time, first come, first served.

Who has computed for a while gives way to those behind (`specviz.ui.share`). One rule: all of this
happens on the server's event loop; a run's thread only reads whether its ticket was stopped and
whether someone waits, and a run itself its `Halt`. Whoever waits holds no thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from specviz.ui.halt import Halt

LONGEST: Final = 64
MOST_ASKED: Final = 10_000  # visitors whose stops are remembered; a made-up one never leaves


class QueueFull(ValueError):
    """Too many runs wait already."""


@dataclass(eq=False, slots=True)
class Ticket:
    """One job's place. visitor: whose, and perhaps what for ("ab12 race").

    number: the page counts its jobs upwards; a client's run has none (inf). overdue: its limit of
    time has ended it. halt: by which it is ended, wherever it computes.
    """

    visitor: str
    number: float
    stopped: bool = False
    overdue: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    halt: Halt = field(default_factory=Halt)

    def __post_init__(self) -> None:
        self.halt.put(self.stopped)

    def stop(self) -> None:
        """Nobody wants this run any more: it leaves the line, or ends after its round."""
        self.end()
        self.moved.set()

    def end(self) -> None:
        """The same where nobody waits who could be woken."""
        self.stopped = True
        self.halt.put(True)

    def run_out(self) -> None:
        """It has computed for as long as one may; one that was stopped before is not overdue."""
        self.overdue |= not self.stopped
        self.end()

    def unwanted(self) -> bool:
        """Whether it was stopped: what the thread that computes asks between its parts."""
        return self.stopped


def theirs(name: str, visitor: str) -> bool:
    """Whether a ticket's name is this visitor's: theirs alone, or with what it is for after it."""
    return name == visitor or name.startswith(f"{visitor} ")


class Queue:
    """Every run that computes (the first) or waits, and what visitors asked to stop."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._tickets: list[Ticket] = []
        self._asked: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._tickets)

    def join(self, visitor: str, number: float = inf) -> Ticket:
        """A place at the end. Raises LineFull with a sentence."""
        if len(self) >= self._longest:
            raise QueueFull(f"{len(self)} runs are waiting already. Try again in a few minutes.")
        ticket = Ticket(visitor, number, stopped=number <= self._asked.get(visitor, -inf))
        self._tickets.append(ticket)
        return ticket

    async def wait(self, ticket: Ticket) -> AsyncGenerator[int, None]:
        """How many runs come first, each time that changes; over when none does, or it stopped."""
        told = 0
        while not ticket.stopped and (ahead := self._tickets.index(ticket)):
            ticket.moved.clear()
            if ahead != told:
                yield ahead
            told = ahead
            await ticket.moved.wait()

    def leave(self, ticket: Ticket) -> None:
        """The run is over, or nobody wants it: those behind it move up."""
        self._tickets.remove(ticket)
        self._move_up()

    def give_way(self, ticket: Ticket) -> None:
        """Those behind it come first now: it waits again, at the end."""
        self._tickets.remove(ticket)
        self._tickets.append(ticket)
        self._move_up()

    def _move_up(self) -> None:
        """Each looks where it stands, and tells of it where that has changed."""
        for ticket in self._tickets:
            ticket.moved.set()

    @property
    def someone_waits(self) -> bool:
        """Whether anybody waits behind the one that computes."""
        return len(self) > 1

    def stop(self, visitor: str, number: float) -> None:
        """The visitor wants this run to end: computing, waiting, or not even here yet."""
        self._asked[visitor] = max(number, self._asked.get(visitor, number))
        if len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        for ticket in self._tickets:
            if ticket.visitor == visitor and ticket.number <= number:
                ticket.stop()

    def part(self, visitor: str) -> None:
        """The visitor is gone: all that is theirs should end, and nothing of it is kept."""
        for asked in [name for name in self._asked if theirs(name, visitor)]:
            del self._asked[asked]
        for ticket in self._tickets:
            if theirs(ticket.visitor, visitor):
                ticket.stop()

    def close(self) -> None:
        """The server is going down: everything should end."""
        for ticket in self._tickets:
            ticket.end()  # called from outside the loop, where nobody can be woken
