"""A race as JSON lines for the page: the race, then each lane's run, and the numbers.

A lane's run is sent when the lane has ended, never between its rounds, which are timed. Recorded
and live races use the same lines. Standard library, frames and figures only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any, Final

from specviz.catalog.entry import title_of
from specviz.compare.lanes import lane_labels, shared_settings
from specviz.compare.measures import complete_rounds, pass_seconds
from specviz.compare.race import (
    PLAIN,
    LaneEnded,
    LaneProgress,
    LaneStarted,
    Race,
    RaceEvent,
    RaceStarted,
    Results,
)
from specviz.compare.summary import race_summary
from specviz.frames.scene import Scene, Word, special, word
from specviz.frames.tree import added_tokens
from specviz.models.files import public_name
from specviz.trace.events import Header
from specviz.trace.file import Trace
from specviz.ui.stream import Source, line

PAUSE: Final = 0.5  # seconds between progress lines: sending one takes time from the lane
IN_ENDED_LINE: Final = (
    "timeline",
    "parts",
    "token_ids",
)  # numbers that a lane's `ended` line already contains


Token = tuple[Word, str]


@dataclass(frozen=True, slots=True)
class RaceSetup:
    """Target and machine of a race. target: name in the catalogue, or of its folder."""

    target: str
    machine: str
    dtype: str

    @classmethod
    def of(cls, header: Header) -> RaceSetup:
        """Target and machine of a recorded lane."""
        return cls(header.target.name, header.machine, header.dtype)


class RaceLines:
    """Convert the events of one race to lines."""

    def __init__(self, race: Race, source: Source, nonce: str, setup: RaceSetup) -> None:
        self.results = Results(race)
        self._about = source, nonce, setup
        self._sent = -inf

    def take(self, event: RaceEvent) -> str:
        """Convert an event to lines, or to an empty text."""
        self.results.add(event)
        match event:
            case RaceStarted():
                return opening(self.results, *self._about)
            case LaneStarted():
                data = {"lane": event.lane, "place": event.number, "turn": event.turn}
                return line("started", data)
            case LaneProgress() if perf_counter() - self._sent > PAUSE:
                self._sent = perf_counter()
                data = {"lane": event.lane, "tokens": event.tokens}
                return line("progress", data | {"seconds": round(event.seconds, 6)})
            case LaneEnded():
                shown = self.results.traces[event.lane]
                return ended(event.lane, shown) + numbers(self.results)
        return ""


def replay(results: Results, name: str) -> Iterator[str]:
    """Yield the lines of a recorded race. name: of the recording."""
    header = next(iter(results.traces.values())).header
    yield opening(results, "recorded", name, RaceSetup.of(header))
    for place, (lane, trace) in enumerate(results.traces.items(), start=1):
        yield line("started", {"lane": lane, "place": place, "turn": 1})
        yield ended(lane, trace)
    yield numbers(results)


def opening(results: Results, source: Source, nonce: str, setup: RaceSetup) -> str:
    """The first line, sent before any lane runs. nonce: identifies the race."""
    race = results.race
    drafters = {lane.name: public_name(lane.drafter) for lane in race.lanes} | {PLAIN: PLAIN}
    lanes = [
        {"name": name, "title": one.title, "shape": one.shape, "drafter": drafters[name]}
        for name, one in lane_labels(race).items()
    ]
    target = title_of(setup.target)
    data = {
        "source": source,
        "id": nonce,
        "prompt": race.prompt,
        "prompt_pieces": word(race.prompt.encode("utf-8", "surrogatepass")),
        "target": target,
        "where": f"{target} · {setup.machine} · {setup.dtype}",
        "settings": shared_settings(race.shared),
        "greedy": race.sampling.greedy,
        "order": list(results.order),
        "lanes": lanes,
    }
    return line("race", data)


def ended(lane: str, trace: Trace) -> str:
    """The line of a finished lane: seconds and new tokens of each pass, as pieces and state.

    chat: whether the text answers the prompt instead of continuing it.
    """
    passes = [[round(seconds, 6) for seconds in each] for each in pass_seconds(trace)]
    tokens = list(_brought(trace)) if trace.rounds else list(_plain(trace))
    chat = trace.header.chat is not None
    return line("ended", {"lane": lane, "chat": chat, "passes": passes, "brought": tokens})


def _brought(trace: Trace) -> Iterator[list[Token]]:
    """The new tokens of each complete round."""
    vocabulary, words = trace.vocabulary, dict[int, Word]()
    for played in complete_rounds(trace):
        scene = Scene(trace.header, vocabulary, played, _words=words)
        yield [(token.word, token.kind) for token in added_tokens(scene)]


def _plain(trace: Trace) -> Iterator[list[Token]]:
    """The token of each pass of plain decoding."""
    vocabulary, signs = trace.vocabulary, trace.header.special_tokens
    for token in trace.baseline.token_ids if trace.baseline else ():
        way = special if token in signs else word
        yield [(way(vocabulary[token]), "plain")]


def numbers(results: Results) -> str:
    """The line with all numbers and sentences so far."""
    whole: dict[str, Any] = race_summary(results)
    lanes = [{k: v for k, v in lane.items() if k not in IN_ENDED_LINE} for lane in whole["lanes"]]
    return line("summary", {"whole": whole | {"lanes": lanes}})
