"""Events of a running race, and the results so far. Standard library only.

Everything measured is kept: a race that is stopped has the lanes that ran until then, the last of
them perhaps unfinished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specviz.compare.measures import is_finished, total_seconds
from specviz.compare.race import PLAIN, Race
from specviz.trace.events import Baseline, Committed, Event, Proposed, Scored, Vocabulary
from specviz.trace.file import Trace
from specviz.trace.work import Weights


@dataclass(frozen=True, slots=True)
class RaceStarted:
    """The first event.

    Attributes:
        order: Names of the lanes in the order in which they run.
        target: Size of the target.
        drafters: Sizes of the drafters, by lane.
    """

    order: tuple[str, ...]
    target: Weights
    drafters: Mapping[str, Weights]


@dataclass(frozen=True, slots=True)
class LaneStarted:
    """A lane starts, first with a warm-up that is not measured.

    Attributes:
        lane: Its name.
        number: Its number in the order, from 1.
        turn: Which of its runs this is, from 1; short lanes run several times.
    """

    lane: str
    number: int
    turn: int = 1


@dataclass(frozen=True, slots=True)
class LaneEvent:
    """An event of the lane's trace."""

    lane: str
    event: Event


@dataclass(frozen=True, slots=True)
class LaneProgress:
    """New tokens so far, and the seconds that the lane itself took for them."""

    lane: str
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LaneEnded:
    """A run of a lane is over, or was stopped: its trace says which."""

    lane: str
    trace: Trace


RaceEvent = RaceStarted | LaneStarted | LaneEvent | LaneProgress | LaneEnded


@dataclass(slots=True)
class Results:
    """The results of a race so far.

    Attributes:
        race: The race.
        order: Names of the lanes in the order in which they run.
        target: Size of the target.
        drafters: Sizes of the drafters, by lane.
        traces: By lane, in order; of several runs the one with the median time.
        seconds: By lane, the seconds of each of its runs.
    """

    race: Race
    order: tuple[str, ...] = ()
    target: Weights | None = None
    drafters: Mapping[str, Weights] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    _runs: dict[str, list[Trace]] = field(default_factory=dict, compare=False, repr=False)

    def add(self, event: RaceEvent) -> None:
        """Add an event of the race."""
        match event:
            case RaceStarted():
                self.order, self.target, self.drafters = event.order, event.target, event.drafters
            case LaneEnded() if event.lane not in self.traces or is_finished(event.trace):
                runs = self._runs.setdefault(event.lane, [])
                runs.append(event.trace)
                self.seconds[event.lane] = [total_seconds(run) for run in runs]
                self.traces[event.lane] = median_run(runs)

    @property
    def plain(self) -> Baseline | None:
        """Plain decoding, if it finished: a part of it would look like a shorter text."""
        trace = self.traces.get(PLAIN)
        return trace.baseline if trace is not None and is_finished(trace) else None

    @property
    def complete(self) -> bool:
        """Whether every lane finished."""
        ended = [self.traces.get(name) for name in self.race.order]
        return all(trace is not None and is_finished(trace) for trace in ended)

    def with_baseline(self, lane: str) -> Trace:
        """A lane's trace, with plain decoding as its baseline if both finished.

        `check` accepts it, and `metrics` computes from it what it computes from a single run.

        Raises:
            KeyError: If the race ended before this lane ran.
        """
        trace, plain = self.traces[lane], self.plain
        if lane == PLAIN or plain is None or not is_finished(trace):
            return trace
        words = self.traces[PLAIN].vocabulary
        new = sorted({*plain.token_ids} & words.keys() - trace.vocabulary.keys())
        added = [Vocabulary({str(t): words[t].decode("latin-1") for t in new})] if new else []
        return Trace(trace.header, [*trace.events, *added, plain])


def median_run(runs: Sequence[Trace]) -> Trace:
    """The run with the median time; of two the faster one."""
    return sorted(runs, key=total_seconds)[(len(runs) - 1) // 2]


def event_seconds(event: Event) -> float:
    """The part of the run's seconds that this event reports."""
    match event:
        case Proposed() | Scored():
            return event.seconds
        case Committed():
            return event.judge_seconds + event.commit_seconds
        case _:
            return 0.0
