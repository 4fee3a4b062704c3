"""What a race says while it runs, and what has come of it so far. Standard library only.

Rule: whatever was measured is kept: a race that is stopped has the lanes that it came to, the last
of them perhaps a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specviz.compare.race import PLAIN, Race
from specviz.compare.timing import seconds_of
from specviz.trace.events import Baseline, Committed, Event, Proposed, Scored, Vocabulary
from specviz.trace.file import Trace
from specviz.trace.work import Weights


@dataclass(frozen=True, slots=True)
class Opening:
    """First of all: the order in which the lanes run, and by name how large their models are."""

    order: tuple[str, ...]
    target: Weights
    drafters: Mapping[str, Weights]


@dataclass(frozen=True, slots=True)
class Started:
    """This lane runs now, as number `place` (from 1); first it warms up, which is not measured.

    turn: 1, and more where it runs again since it is short.
    """

    lane: str
    place: int
    turn: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """An event of the lane's trace, as it came."""

    lane: str
    event: Event


@dataclass(frozen=True, slots=True)
class Progress:
    """So far: new tokens, and the seconds that the lane itself took for them."""

    lane: str
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The lane is over for this turn, or was stopped: its `finished` says which."""

    lane: str
    trace: Trace


RaceEvent = Opening | Started | Report | Progress | Ended


@dataclass(slots=True)
class Results:
    """A race as far as it came. traces: by lane, those that ended or were stopped, in order; of a
    lane that ran more than once the run that took the middle time. seconds: of all its runs.
    """

    race: Race
    order: tuple[str, ...] = ()
    target: Weights | None = None
    drafters: Mapping[str, Weights] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    _runs: dict[str, list[Trace]] = field(default_factory=dict, compare=False, repr=False)

    def take(self, event: RaceEvent) -> None:
        """Note what a race said."""
        match event:
            case Opening():
                self.order, self.target, self.drafters = event.order, event.target, event.drafters
            case Ended() if event.lane not in self.traces or whole(event.trace):
                runs = self._runs.setdefault(event.lane, [])
                runs.append(event.trace)
                self.seconds[event.lane] = [seconds_of(run) for run in runs]
                self.traces[event.lane] = middle(runs)

    @property
    def plain(self) -> Baseline | None:
        """Plain decoding, where it came to its end: half of it would read as a shorter text."""
        trace = self.traces.get(PLAIN)
        return trace.baseline if trace is not None and whole(trace) else None

    @property
    def complete(self) -> bool:
        """Whether every lane came to its end."""
        ended = [self.traces.get(name) for name in self.race.order]
        return all(trace is not None and whole(trace) for trace in ended)

    def measured(self, lane: str) -> Trace:
        """A lane's trace, with plain decoding as its baseline where both are whole.

        `check` accepts it, and `metrics` finds in it what it finds in a run of its own. Raises
        KeyError for a lane that the race did not come to.
        """
        trace, plain = self.traces[lane], self.plain
        if lane == PLAIN or plain is None or not whole(trace):
            return trace
        words = self.traces[PLAIN].vocabulary
        new = sorted({*plain.token_ids} & words.keys() - trace.vocabulary.keys())
        told = [Vocabulary({str(t): words[t].decode("latin-1") for t in new})] if new else []
        return Trace(trace.header, [*trace.events, *told, plain])


def middle(runs: Sequence[Trace]) -> Trace:
    """The run that took the middle time; of two the shorter."""
    return sorted(runs, key=seconds_of)[(len(runs) - 1) // 2]


def whole(trace: Trace) -> bool:
    """Whether a lane came to its end; it did not where it was stopped or broke off."""
    ended = trace.finished
    return ended is not None and ended.reason != "stopped"


def spent(event: Event) -> float:
    """The seconds of a round that this event tells; they add up to the run's."""
    match event:
        case Proposed() | Scored():
            return event.seconds
        case Committed():
            return event.judge_seconds + event.commit_seconds
        case _:
            return 0.0
