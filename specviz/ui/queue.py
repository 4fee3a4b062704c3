"""The queue of jobs that need the models: their order, and estimates of their waiting time.

One job computes at a time, for a short turn (`specviz.ui.task`). Jobs that have shown nothing yet
come first, then jobs that draft, then jobs that measure plain decoding. Within a phase, the visitor
who has waited longest since the last turn comes first. So that no phase starves, one that was
passed over PASSED_OVER times in a row gets the next turn.

Everything here runs on the server's event loop. The thread that computes only reads whether its
ticket was stopped and whether another job waits. Waiting jobs do not occupy a thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from statistics import fmean
from time import monotonic
from typing import Final, NamedTuple

from specviz.ui.task import StopFlag

MAX_JOBS: Final = 64
PER_VISITOR: Final = 2  # maximum jobs of one visitor that wait or compute at the same time
PASSED_OVER: Final = 4  # turns in a row that may pass over a phase in which jobs wait
REPEAT: Final = 5.0  # seconds between two reports to a job that takes turns with others
FEWEST, LATEST = 3, 20  # how many measured turns an estimate needs, and how many it uses
TOO_MANY: Final = "You already have {} runs waiting or running. Stop one, or wait until one ends."


class QueueFull(ValueError):
    """Raised if a job is not accepted, because too many wait in total or for this visitor."""


class Phase(IntEnum):
    """How far a job is; jobs are served in this order."""

    FIRST_ROUND = 0  # the job has shown nothing yet
    DRAFTING = 1
    BASELINE = 2  # only plain decoding is left to measure


class Position(NamedTuple):
    """The position of a job in the queue.

    Attributes:
        place: The number of jobs before it; for a job that has begun, the number of other jobs with
            which it takes turns.
        seconds: The estimated time until its next turn; None if too few turns were measured.
    """

    place: int
    seconds: float | None


@dataclass(eq=False, slots=True)
class Ticket:
    """One job in the queue.

    Attributes:
        visitor: The page's key, or the network address of an API client.
        moved: Event that is set when the position may have changed.
        stop_flag: The flag that ends the job, also in another process.
        drawing: Whether the job pauses while the page draws its last output.
        served: Numbers of the last turn of this visitor in this phase, and of this job's
            last turn.
        reported: When the position of a job that has begun was last sent.
    """

    visitor: str
    stopped: bool = False
    overdue: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    stop_flag: StopFlag = field(default_factory=StopFlag)
    phase: Phase = Phase.FIRST_ROUND
    drawing: bool = False
    served: tuple[int, int] = (0, 0)
    reported: float = -REPEAT

    def __post_init__(self) -> None:
        self.stop_flag.set(self.stopped)

    def stop(self) -> None:
        """End this job: it leaves the queue, or ends after its round. Only on the event loop."""
        self.end()
        self.moved.set()

    def end(self) -> None:
        """End this job without waking its listeners; thread-safe."""
        self.stopped = True
        self.stop_flag.set(True)

    def run_out(self) -> None:
        """End this job at its time limit; a job that was stopped earlier is not overdue."""
        self.overdue |= not self.stopped
        self.end()

    @property
    def closing(self) -> bool:
        """Whether the job was stopped after its first turn, so that it still has to end its run."""
        return self.stopped and self.served[1] > 0

    def unwanted(self) -> bool:
        """Return whether the job was stopped; the computing thread checks this between steps."""
        return self.stopped


class Queue:
    """All jobs that compute or wait."""

    def __init__(self, longest: int = MAX_JOBS) -> None:
        self._longest = longest
        self._tickets: list[Ticket] = []
        self._running: Ticket | None = None
        self._numbers = count(1)  # counts turns and arrivals
        self._passed_over = dict.fromkeys(Phase, 0)
        self._turns = {phase: deque[float](maxlen=LATEST) for phase in Phase}

    def __len__(self) -> int:
        return len(self._tickets)

    def join(self, visitor: str, most: int = PER_VISITOR) -> Ticket:
        """Add a job of a visitor, who may have at most so many.

        Raises QueueFull if the queue is full, or this visitor has too many jobs.
        """
        ticket = Ticket(visitor)
        mine = [t for t in self._tickets if t.visitor == visitor and not t.stopped]
        if len(mine) >= most:
            raise QueueFull(TOO_MANY.format(most))
        if len(self) >= self._longest:
            raise QueueFull(f"{len(self)} runs are already waiting. Try again in a few minutes.")
        ticket.served = (next(self._numbers), 0)
        self._tickets.append(ticket)
        self._dispatch()
        return ticket

    async def wait(self, ticket: Ticket) -> AsyncGenerator[Position, None]:
        """Yield the position each time it changes; end when the job's turn starts or it is stopped.

        For a job that has begun, the position is yielded at once, then at most every REPEAT
        seconds.
        """
        last = 0
        while not ticket.stopped and self._running is not ticket:
            ticket.moved.clear()
            position = self.position(ticket)
            if ticket.phase is Phase.FIRST_ROUND:
                changed = position.place != last
            else:
                changed = position.place > 0 and monotonic() - ticket.reported >= REPEAT
            if changed:
                last = position.place
                if ticket.phase is not Phase.FIRST_ROUND:
                    ticket.reported = monotonic()
                yield position
            await ticket.moved.wait()

    def position(self, ticket: Ticket) -> Position:
        """Return the current position of a job."""
        others = [other for other in self._tickets if other is not ticket and not other.stopped]
        if ticket.phase is Phase.FIRST_ROUND:
            mine = (ticket.phase, ticket.served)
            others = [t for t in others if t is self._running or (t.phase, t.served) < mine]
        return Position(len(others), self._estimate(others))

    def _estimate(self, ahead: list[Ticket]) -> float | None:
        # None if too few turns were measured. Turns of later phases are ignored: few and short.
        taken = [self._turns[ticket.phase] for ticket in ahead]
        if any(len(seconds) < FEWEST for seconds in taken):
            return None
        return sum(map(fmean, taken))

    def leave(self, ticket: Ticket, seconds: float | None = None) -> None:
        """Remove a job that is over; `seconds` is the duration of its last turn, if it had one."""
        self._end_turn(ticket, seconds)
        self._tickets.remove(ticket)
        self._dispatch()

    def give_way(
        self, ticket: Ticket, phase: Phase, seconds: float | None = None, drawing: bool = False
    ) -> None:
        """End a turn of `seconds` of a job that is not over; drawing: it pauses until `drawn`."""
        self._end_turn(ticket, seconds)
        ticket.phase = phase
        ticket.drawing = drawing
        self._dispatch()

    def drawn(self, ticket: Ticket) -> None:
        """End the pause in which the page draws the job's output; the job takes turns again."""
        ticket.drawing = False
        self._dispatch()

    def _end_turn(self, ticket: Ticket, seconds: float | None) -> None:
        if self._running is ticket:
            self._running = None
        if seconds is not None and (len(self) > 1 or ticket.phase is Phase.FIRST_ROUND):
            self._turns[ticket.phase].append(seconds)  # a job that is alone has longer turns
        number = next(self._numbers)
        for other in self._tickets:
            if other.visitor == ticket.visitor and other.phase is ticket.phase:
                other.served = (number, other.served[1])
        ticket.served = (number, number)

    def _dispatch(self) -> None:
        if self._running is None:
            self._running = self._next()
        for ticket in self._tickets:
            ticket.moved.set()

    def _next(self) -> Ticket | None:
        # A job that was stopped between two turns comes first, so that its caches are freed.
        if any(ticket.closing for ticket in self._tickets):
            return None
        waiting = {phase: list(self._ready(phase)) for phase in Phase}
        phases = [phase for phase, tickets in waiting.items() if tickets]
        if not phases:
            return None
        starved = [phase for phase in phases if self._passed_over[phase] >= PASSED_OVER]
        chosen = starved[-1] if starved else phases[0]
        for phase in Phase:
            passed = phase in phases and phase is not chosen
            self._passed_over[phase] = self._passed_over[phase] + 1 if passed else 0
        return min(waiting[chosen], key=lambda ticket: ticket.served)

    def _ready(self, phase: Phase) -> Iterator[Ticket]:
        for ticket in self._tickets:
            if ticket.phase is phase and not (ticket.stopped or ticket.drawing):
                yield ticket

    @property
    def someone_waits(self) -> bool:
        """Return whether another job could compute if the active one ended its turn."""
        waiting = [ticket for ticket in list(self._tickets) if ticket is not self._running]
        return not all(ticket.stopped or ticket.drawing for ticket in waiting)

    def close(self) -> None:
        """End all jobs because the server shuts down; thread-safe."""
        for ticket in list(self._tickets):
            ticket.end()
