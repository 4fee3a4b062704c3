"""A race as JSON lines for the page: the race, then each lane's run, and the numbers.

The run of a lane is sent after the lane has ended, never between its rounds, which are timed.
Recorded and live races are sent in the same form. Standard library, frames and figures only.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import perf_counter
from typing import Final, Literal, TypedDict

from specviz.catalog.entry import title_of
from specviz.compare.lanes import lane_labels, shared_settings
from specviz.compare.measures import PassSeconds, Verdict, complete_rounds, pass_seconds
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
from specviz.compare.report import LaneReport, reports
from specviz.compare.summary import (
    Sentence,
    caution,
    equality_sentence,
    headline,
    round_numbers,
    speed_sentence,
    texts_sentence,
)
from specviz.cost.formula import measured_point
from specviz.frames.scene import Scene, TokenState, Word, special, word
from specviz.frames.tree import added_tokens
from specviz.trace.file import Trace
from specviz.ui.step.choices import HintLine
from specviz.ui.step.lines import PointData, point_data
from specviz.ui.stream import ErrorLine, Source, StateLine, line

PAUSE: Final = 0.5  # seconds between progress lines, since sending one takes time from the lane
Token = tuple[Word, TokenState]


class LaneFacts(TypedDict):
    """A lane. shape: the shape of its draft, in words."""

    name: str
    title: str
    shape: str


class RaceLine(TypedDict):
    """The first line of a race. order: names of the lanes, in the order in which they run."""

    kind: Literal["race"]
    id: str
    source: Source
    prompt: str
    where: str
    settings: str
    order: list[str]
    lanes: list[LaneFacts]


class StartedLine(TypedDict):
    """A lane starts; `place` and `turn` are the number and turn of LaneStarted."""

    kind: Literal["started"]
    lane: str
    place: int
    turn: int


class ProgressLine(TypedDict):
    """Number of tokens of the running lane so far, and its seconds."""

    kind: Literal["progress"]
    lane: str
    tokens: int
    seconds: float


class EndedLine(TypedDict):
    """A finished lane: seconds and new tokens of each pass."""

    kind: Literal["ended"]
    lane: str
    chat: bool
    passes: list[PassSeconds]
    brought: list[list[Token]]


class CostNumbers(TypedDict):
    """The costs of a round and their sum; see `report.Costs`."""

    draft: float
    target: float
    overhead: float
    prefill: float
    total: float


class DepthNumbers(TypedDict):
    """Counts at one depth; see `report.Depth`."""

    positions: int
    kept: int


class ShownNumbers(TypedDict):
    """Numbers as they are shown; see `summary.RoundNumbers`."""

    brings: str
    cost: str | None


class TextEquality(TypedDict):
    """How a lane's text compares with plain decoding's; see `measures.Equality`."""

    verdict: Verdict
    position: int | None
    sentence: str


class LaneNumbers(TypedDict):
    """The results of a lane; see `LaneReport`.

    Attributes:
        shown: Tokens and cost of a round, rounded so that tokens divided by cost give the speed-up
            shown.
        point: The lane's point on the Cost tab; None if nothing was drafted or measured.
    """

    name: str
    sentence_parts: Sentence
    shown: ShownNumbers | None
    point: PointData | None
    brings: float | None
    costs: CostNumbers | None
    speedup: float | None
    speedups: tuple[float, float] | None
    runs: list[float]
    noise: str | None
    tokens_per_second: float | None
    alpha: float | None
    guesses: float | None
    rule: str
    depths: list[DepthNumbers]
    flops_per_token: float | None
    bytes: int
    held_bytes: int | None
    equality: TextEquality


class Texts(TypedDict):
    """Whether all texts are the same (None if a lane did not finish), and a sentence on it."""

    same: bool | None
    sentence_parts: Sentence


class Result(TypedDict):
    """All numbers and sentences so far."""

    headline: str
    caution: str | None
    texts: Texts
    lanes: list[LaneNumbers]


class SummaryLine(TypedDict):
    """All results so far, sent after each lane."""

    kind: Literal["summary"]
    whole: Result


Line = (
    RaceLine
    | StartedLine
    | ProgressLine
    | EndedLine
    | SummaryLine
    | HintLine
    | StateLine
    | ErrorLine
)


def where(target: str, machine: str, dtype: str) -> str:
    """Return where a race runs, as text. target: its name in the catalogue, or its folder's."""
    return f"{title_of(target)} · {machine} · {dtype}"


class RaceLines:
    """Converts the events of one race to lines."""

    def __init__(self, race: Race, source: Source, nonce: str, place: str) -> None:
        self.results = Results(race)
        self._about = source, nonce, place
        self._sent = -inf

    def take(self, event: RaceEvent) -> str:
        """Convert an event to lines; the result may be empty."""
        self.results.add(event)
        match event:
            case RaceStarted():
                return opening(self.results, *self._about)
            case LaneStarted():
                return started(event.lane, event.number, event.turn)
            case LaneProgress() if perf_counter() - self._sent > PAUSE:
                self._sent = perf_counter()
                return progress(event)
            case LaneEnded():
                shown = self.results.traces[event.lane]
                return ended(event.lane, shown) + numbers(self.results)
        return ""


def replay(results: Results, name: str) -> Iterator[str]:
    """Yield the lines of a recorded race; `name` is the recording's name."""
    header = next(iter(results.traces.values())).header
    place = where(header.target.name, header.machine, header.dtype)
    yield opening(results, "recorded", name, place)
    for number, (lane, trace) in enumerate(results.traces.items(), start=1):
        yield started(lane, number, 1)
        yield ended(lane, trace)
    yield numbers(results)


def opening(results: Results, source: Source, nonce: str, place: str) -> str:
    """Return the first line, sent before any lane runs; `nonce` identifies the race."""
    race = results.race
    said: RaceLine = {
        "kind": "race",
        "id": nonce,
        "source": source,
        "prompt": race.prompt,
        "where": place,
        "settings": shared_settings(race.shared),
        "order": list(results.order),
        "lanes": [
            {"name": name, "title": one.title, "shape": one.shape}
            for name, one in lane_labels(race).items()
        ],
    }
    return line(said["kind"], said)


def started(lane: str, place: int, turn: int) -> str:
    """Return the line for a lane that starts."""
    said: StartedLine = {"kind": "started", "lane": lane, "place": place, "turn": turn}
    return line(said["kind"], said)


def progress(event: LaneProgress) -> str:
    """Return the line for the progress of the running lane."""
    said: ProgressLine = {
        "kind": "progress",
        "lane": event.lane,
        "tokens": event.tokens,
        "seconds": round(event.seconds, 6),
    }
    return line(said["kind"], said)


def ended(lane: str, trace: Trace) -> str:
    """Return the line for a finished lane."""
    said: EndedLine = {
        "kind": "ended",
        "lane": lane,
        "chat": trace.header.chat is not None,
        "passes": [(round(d, 6), round(t, 6), round(r, 6)) for d, t, r in pass_seconds(trace)],
        "brought": list(_brought(trace)) if trace.rounds else list(_plain(trace)),
    }
    return line(said["kind"], said)


def _brought(trace: Trace) -> Iterator[list[Token]]:
    vocabulary, words = trace.vocabulary, dict[int, Word]()
    for played in complete_rounds(trace):
        scene = Scene(trace.header, vocabulary, played, _words=words)
        yield [(token.word, token.kind) for token in added_tokens(scene)]


def _plain(trace: Trace) -> Iterator[list[Token]]:
    vocabulary, signs = trace.vocabulary, trace.header.special_tokens
    for token in trace.baseline.token_ids if trace.baseline else ():
        way = special if token in signs else word
        yield [(way(vocabulary[token]), "plain")]


def numbers(results: Results) -> str:
    """Return the line with all numbers and sentences so far."""
    lanes = reports(results)
    same, sentence = texts_sentence(lanes)
    said: SummaryLine = {
        "kind": "summary",
        "whole": {
            "headline": headline(lanes),
            "caution": caution(lanes) or None,
            "texts": {"same": same, "sentence_parts": sentence},
            "lanes": [lane_numbers(lane, results.with_baseline(lane.name)) for lane in lanes],
        },
    }
    return line(said["kind"], said)


def lane_numbers(lane: LaneReport, trace: Trace) -> LaneNumbers:
    """Return the results of a lane, whose trace has plain decoding as its baseline."""
    costs, shown = lane.costs, round_numbers(lane)
    point = None if lane.name == PLAIN else measured_point(trace)
    return {
        "name": lane.name,
        "sentence_parts": speed_sentence(lane),
        "shown": None if shown is None else {"brings": shown.brings, "cost": shown.cost},
        "point": None if point is None else point_data(point),
        "brings": lane.brings,
        "costs": None if costs is None else {
            "draft": costs.draft, "target": costs.target, "overhead": costs.overhead,
            "prefill": costs.prefill, "total": costs.total,
        },
        "speedup": lane.speedup,
        "speedups": lane.speedups,
        "runs": lane.runs,
        "noise": lane.noise,
        "tokens_per_second": lane.tokens_per_second,
        "alpha": lane.alpha,
        "guesses": lane.guesses,
        "rule": lane.rule,
        "depths": [{"positions": one.positions, "kept": one.kept} for one in lane.depths],
        "flops_per_token": lane.flops_per_token,
        "bytes": lane.bytes,
        "held_bytes": lane.held_bytes,
        "equality": {
            "verdict": lane.equality.verdict, "position": lane.equality.position,
            "sentence": equality_sentence(lane),
        },
    }  # fmt: skip
