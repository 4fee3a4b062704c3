"""A race: its lanes, its events while it runs, and its results so far.

A race has one prompt and two to four lanes, which run in a shuffled order. For a fair comparison,
sampling, seed, length and coins are the same in every lane; drafter, rule and shape of the draft
may differ. If a race is stopped, the lanes that were measured before are kept; the last of these
may be unfinished. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from specviz.compare.measures import is_finished, total_seconds
from specviz.settings.chance import random_u
from specviz.settings.settings import Sampling, Settings, require
from specviz.trace.events import Baseline, Committed, Event, Proposed, Scored, Vocabulary
from specviz.trace.file import Trace
from specviz.trace.work import Weights

PLAIN: Final = "plain"  # name of the lane without a drafter, which every race has
MIN_LANES: Final = 2
MAX_LANES: Final = 4
MAX_NAME_LENGTH: Final = 120
# The module is part of the page, a layer above this one, so it is imported by name when a race is
# first shown.
REPLAY: Final = "specviz.ui.compare.race.replay"
SHARED_SETTINGS: Final = {  # for each field of Settings that lanes must share, its name in errors
    "sampling": "temperature, top-k and top-p",
    "seed": "seed",
    "max_new_tokens": "number of new tokens",
    "chat": "prompt format",
    "system": "system text",
    "coins": "coins set by hand",
}


@dataclass(frozen=True, slots=True)
class Lane:
    """One way of drafting. drafter: the drafter, as accepted by `catalog.load_drafter`."""

    name: str
    drafter: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Race:
    """Lanes on one prompt; plain decoding always runs as an additional lane.

    Raises BadSettings if the lanes cannot be compared.

    Attributes:
        target: The target, as accepted by `catalog.load_target`.
        lanes: The lanes with a drafter.
        order_seed: Seed of the order in which the lanes run.
    """

    prompt: str
    target: str
    lanes: tuple[Lane, ...]
    order_seed: int

    def __post_init__(self) -> None:
        lanes = len(self.lanes)
        fits = MIN_LANES <= lanes <= MAX_LANES
        needs = f"{MIN_LANES} to {MAX_LANES} lanes besides plain decoding"
        require(fits, f"A race has {needs}, not {lanes}.")
        require(-(2**63) <= self.order_seed < 2**63, "The order seed must fit in 64 bits.")
        for lane in self.lanes:
            short = 0 < len(lane.name) <= MAX_NAME_LENGTH
            require(short, f"A lane's name has 1 to {MAX_NAME_LENGTH} characters.")
            unique = lane.name != PLAIN and sum(lane.name == o.name for o in self.lanes) == 1
            require(unique, f"Two lanes are called {lane.name!r}.")
            self._check_shared(lane)

    def _check_shared(self, lane: Lane) -> None:
        first = self.lanes[0]
        for name, called in SHARED_SETTINGS.items():
            same = getattr(lane.settings, name) == getattr(first.settings, name)
            sentence = (
                f"All lanes of a race must have the same {called}; "
                f"those of {first.name!r} and {lane.name!r} differ."
            )
            require(same, sentence)

    @property
    def shared(self) -> Settings:
        """The settings of plain decoding: the settings that all lanes share, otherwise defaults."""
        one = self.lanes[0].settings
        return Settings(**{name: getattr(one, name) for name in SHARED_SETTINGS})

    @property
    def sampling(self) -> Sampling:
        """How every lane converts logits to a distribution."""
        return self.lanes[0].settings.sampling

    @property
    def order(self) -> tuple[str, ...]:
        """The names of all lanes, shuffled with `order_seed`, alike in every version of Python."""
        names = [*(lane.name for lane in self.lanes), PLAIN]
        order = sorted(range(len(names)), key=lambda i: random_u(self.order_seed, i, "lane", 0))
        return tuple(names[index] for index in order)


def unique_names(names: Iterable[str]) -> list[str]:
    """Make names unique by numbering repeated ones.

    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in (*found, PLAIN):
            number += 1
            unique = f"{name} ({number})"
        found.append(unique)
    return found


@dataclass(frozen=True, slots=True)
class RaceStarted:
    """The first event.

    Attributes:
        order: Names of the lanes in the order in which they run.
        drafters: Sizes of the drafters, by lane.
    """

    order: tuple[str, ...]
    target: Weights
    drafters: Mapping[str, Weights]


@dataclass(frozen=True, slots=True)
class LaneStarted:
    """A lane starts, first with a warm-up that is not measured.

    Attributes:
        number: Its number in the order of running, from 1.
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
    """A run of a lane has finished or was stopped; the trace says which."""

    lane: str
    trace: Trace


RaceEvent = RaceStarted | LaneStarted | LaneEvent | LaneProgress | LaneEnded


@dataclass(slots=True, repr=False)
class Results:
    """The results of a race so far. A notebook shows them as the page's race.

    Attributes:
        race: The race.
        order: Names of the lanes in the order in which they run.
        target: Size of the target.
        drafters: Sizes of the drafters, by lane.
        traces: Trace of each lane, in order. If a lane ran several times, this is the run with the
            median time.
        seconds: Seconds of each run of each lane.
    """

    race: Race
    order: tuple[str, ...] = ()
    target: Weights | None = None
    drafters: Mapping[str, Weights] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    _runs: dict[str, list[Trace]] = field(default_factory=dict, compare=False, repr=False)

    def __repr__(self) -> str:
        ended = [name for name, trace in self.traces.items() if is_finished(trace)]
        of = f"{len(ended)} of {len(self.race.order)} lanes finished"
        names = f": {', '.join(ended)}" if ended else ""
        return f"<Results: {self.race.target}, {of}{names}>"

    def show(self) -> Any:
        """Return a replay of the race, which a notebook shows and `write` saves as a file.

        Raises ValueError if no lane has run.
        """
        return import_module(REPLAY).show(self)

    def _repr_html_(self) -> str | None:
        # None shows plain text, before the first lane.
        shown: str | None = self.show()._repr_html_() if self.traces else None
        return shown

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
        """Plain decoding, if it finished; a partial text would look like a shorter text."""
        trace = self.traces.get(PLAIN)
        return trace.baseline if trace is not None and is_finished(trace) else None

    @property
    def complete(self) -> bool:
        """Whether every lane finished."""
        ended = [self.traces.get(name) for name in self.race.order]
        return all(trace is not None and is_finished(trace) for trace in ended)

    def with_baseline(self, lane: str) -> Trace:
        """Return a lane's trace, with plain decoding as its baseline if both finished.

        The result is a valid trace, as if plain decoding had been measured after a single run.
        Raises KeyError if the race ended before this lane ran.
        """
        trace, plain = self.traces[lane], self.plain
        if lane == PLAIN or plain is None or not is_finished(trace):
            return trace
        words = self.traces[PLAIN].vocabulary
        new = sorted({*plain.token_ids} & words.keys() - trace.vocabulary.keys())
        added = [Vocabulary({str(t): words[t].decode("latin-1") for t in new})] if new else []
        return Trace(trace.header, [*trace.events, *added, plain])


def median_run(runs: Sequence[Trace]) -> Trace:
    """Return the run with the median time; of two runs, the faster."""
    return sorted(runs, key=total_seconds)[(len(runs) - 1) // 2]


def event_seconds(event: Event) -> float:
    """Return the seconds of the run that an event reports."""
    match event:
        case Proposed() | Scored():
            return event.seconds
        case Committed():
            return event.judge_seconds + event.commit_seconds
        case _:
            return 0.0
