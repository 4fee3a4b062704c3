"""A run as lines of JSON for the player: the run, its rounds, its end, the baseline.

Recorded and live runs are sent in the same form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict, cast

from specviz.catalog.entry import find, settings_read_by, title_of
from specviz.cost.formula import MeasuredPoint, measured_point
from specviz.figures.frame import DrawnFrame, add_figures
from specviz.frames import Scene, frames, questions
from specviz.frames.frame import end_card
from specviz.frames.numbers import format_seconds
from specviz.frames.scene import TokenState, Word
from specviz.frames.tree import TurnBlock, added_tokens, turns
from specviz.settings.settings import summary_parts
from specviz.texts import count
from specviz.trace import metrics
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Header,
    Judged,
    Proposed,
    Round,
    Scored,
    Vocabulary,
)
from specviz.trace.file import Trace, dumps
from specviz.trace.metrics import VERDICT, explain_noise
from specviz.ui.step.choices import HintLine
from specviz.ui.stream import BaselineNext, ErrorLine, Source, StateLine, line

if TYPE_CHECKING:
    from specviz.engine.loop import PlainStep

AGAIN: Final = "Unreliable times; run it again"  # for a visitor's own run
REPEATED: Final = (
    "The speed-up and the total times are medians of {}, since single times were unreliable. "
    "The steps are those of one of these runs."
)
UNSTABLE: Final = (
    "The run was repeated, but the medians of {} are unreliable, too. Try again when the machine "
    "is less busy."
)
Names = tuple[str, str]


class RunLine(TypedDict):
    """What the page shows about a whole run, or needs to request it again.

    Attributes:
        request: The prompt for a new request; see `request_of`.
        turns: The prompt as a conversation; empty for raw text.
        how: How the drafter drafts, in a sentence.
        names: Target and drafter as requested.
        again: When the run was computed, in a sentence, if it was computed for an earlier
            request.
        file: The file's name, which the page adds, if a visitor opened the run from a file.
    """

    kind: Literal["run"]
    source: Source
    prompt: str
    request: str | list[dict[str, str]]
    turns: list[TurnBlock]
    drafter: str
    how: str
    on: str
    where: str
    summary: list[tuple[str, str]]
    greedy: bool
    lossless: bool
    names: Names
    settings: dict[str, Any]
    id: str
    again: NotRequired[str]
    file: NotRequired[str]
    trace: list[str]


class RoundLine(TypedDict):
    """A round.

    Attributes:
        asks: For each step with a verdict, the frame that asks for it.
        brings: The tokens that the round added to the text; see `AddedToken`.
        seconds: See `parts`.
        trace: The lines of the trace since the previous line.
    """

    kind: Literal["round"]
    number: int
    frames: list[DrawnFrame]
    asks: dict[str, DrawnFrame]
    brings: Sequence[tuple[Word, TokenState, int]]
    seconds: tuple[float, float, float]
    trace: list[str]


class EndLine(TypedDict):
    """The end card.

    Attributes:
        end: Its frame; missing if the run has no round.
        trace: The lines of the trace since the previous line.
    """

    end: NotRequired[DrawnFrame]
    trace: list[str]


class FinishedLine(EndLine):
    """The run has ended; the baseline may follow."""

    kind: Literal["finished"]
    reason: str
    summary: str


class PointData(TypedDict):
    """A MeasuredPoint as sent to the page; `predicted` is by the formula for its values."""

    alpha: float
    gamma: float
    guesses: float
    c: float
    verify: float
    tokens: float
    speedup: float
    predicted: float
    tokens_per_pass: NotRequired[float]


class BaselineLine(EndLine):
    """Plain decoding.

    Attributes:
        seconds: Seconds of each pass.
        point: None if nothing was drafted or measured.
        unreliable: Whether a live run's times are, so that the page offers to repeat it.
    """

    kind: Literal["baseline"]
    seconds: list[float]
    summary: str
    point: PointData | None
    unreliable: bool


Line = RunLine | RoundLine | FinishedLine | BaselineLine | HintLine | StateLine | ErrorLine


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repetitions of a run. times: the run with the medians of all times."""

    times: Trace
    number: int

    @property
    def sentence(self) -> str:
        """What the page says about the run."""
        plain = self.times.baseline
        noisy = plain is not None and explain_noise(self.times, plain)
        return (UNSTABLE if noisy else REPEATED).format(count(self.number, "run"))


def lines(
    events: Iterable[Event | PlainStep],
    source: Source,
    nonce: str = "",
    names: Names | None = None,
    repeats: Repeats | None = None,
) -> Iterator[str]:
    """Yield the player's lines, each as soon as its round is complete.

    For a pass of the baseline, an empty text is yielded, so that the run can be interrupted there.

    Args:
        events: The run.
        source: "recorded" or "live".
        nonce: Identifies the run on the page.
        names: Target and drafter as requested, if the trace names them differently (a folder, for
            example), so that the page can request the same run again.
        repeats: The repetitions of which this is one run, whose medians replace its totals.
    """
    run_lines: RunLines | None = None
    for event in events:
        if isinstance(event, Header):
            run_lines = RunLines(event, source, repeats)
            facts = run_facts(event, source, nonce, names)
            yield line("run", facts if repeats is None else {**facts, "again": repeats.sentence})
        elif not isinstance(event, Event):
            yield ""
        elif run_lines is not None:
            yield from run_lines.lines(event)
    if run_lines is not None:
        yield from run_lines.unfinished()


class RunLines:
    """The run so far, and the current round."""

    def __init__(self, header: Header, source: Source, repeats: Repeats | None = None) -> None:
        self.trace = Trace(header)
        self.source: Source = source
        self.repeats = repeats
        self.vocabulary: dict[int, bytes] = {}
        self.round: Round | None = None
        self.earlier: list[Round] = []
        self.last: DrawnFrame | None = None
        self.texts: list[str] = []  # lines of the trace that were not sent yet

    def lines(self, event: Event) -> Iterator[str]:
        """Yield the lines that an event completes."""
        self.trace.events.append(event)
        self.texts.append(dumps(event))
        match event:
            case Vocabulary():
                self.vocabulary |= {int(k): v.encode("latin-1") for k, v in event.tokens.items()}
            case Proposed() | Scored() | Judged() | Drew() | Committed():
                yield from self._round_lines(event)
            case Finished():
                finished: FinishedLine = {
                    "kind": "finished",
                    "reason": event.reason,
                    "summary": self._summary(),
                    **self._end(),
                }
                yield BaselineNext(line("finished", finished))
            case Baseline():
                baseline: BaselineLine = {
                    "kind": "baseline",
                    "seconds": [round(s, 6) for s in event.seconds],
                    "summary": self._summary(),
                    "point": self._point(),
                    "unreliable": self.source == "live" and self._is_noisy(),
                    **self._end(),
                }
                yield line("baseline", baseline)

    def unfinished(self) -> Iterator[str]:
        """Yield the last round if it is incomplete."""
        if self.round is not None:
            yield self._whole(self.round)

    def _round_lines(self, event: Proposed | Scored | Judged | Drew | Committed) -> Iterator[str]:
        if self.round is None or self.round.number != event.round:
            yield from self.unfinished()
            self.round = Round(event.round)
        if isinstance(event, Judged):
            self.round.judged.append(event)
        else:
            setattr(self.round, event.event, event)
        if isinstance(event, Committed):
            yield self._whole(self.round)
            self.round = None

    def _whole(self, played: Round) -> str:
        header = self.trace.header
        titles = title_of(header.drafter.name), guesser_of(header.drafter.family)
        scene = Scene(header, self.vocabulary, played, tuple(self.earlier), *titles)
        self.earlier.append(played)
        plain = frames(scene)
        shots = [add_figures(frame) for frame in plain]
        self.last = shots[-1]
        shown: RoundLine = {
            "kind": "round",
            "number": played.number,
            "frames": shots,
            "asks": {str(at): add_figures(frame) for at, frame in questions(scene, plain).items()},
            "brings": added_tokens(scene),
            "seconds": parts(played),
            "trace": self._take_texts(),
        }
        return line("round", shown)

    def _end(self) -> EndLine:
        if self.last is None:
            return {"trace": self._take_texts()}
        card = cast("DrawnFrame", end_card(self._timed(), self.last))  # with the last frame's tree
        return {"end": card, "trace": self._take_texts()}

    def _timed(self) -> Trace:
        return self.trace if self.repeats is None else self.repeats.times

    def _is_noisy(self) -> bool:
        timed = self._timed()
        return timed.baseline is not None and explain_noise(timed, timed.baseline) is not None

    def _take_texts(self) -> list[str]:
        taken, self.texts = self.texts, []
        return taken

    def _summary(self) -> str:
        # Without a speed-up if measured times vary too much; the end card says why.
        timed = self._timed()
        numbers = metrics.summary(timed)
        said = f"{count(numbers['tokens'], 'token')} in {format_seconds(numbers['total_seconds'])}"
        if self.repeats is not None:
            said = f"Median of {count(self.repeats.number, 'run')}: {said}"
        plain = timed.baseline
        if plain is not None and numbers["speedup"] is not None:
            ratio = f", {numbers['speedup']:.2f} × plain"
            noisy = AGAIN if self.source == "live" else VERDICT
            return f"{said}. {noisy}" if self._is_noisy() else said + ratio
        ended = self.trace.finished
        stopped = ended is not None and ended.reason == "stopped"
        return said if stopped else f"{said}; plain decoding is measured next"

    def _point(self) -> PointData | None:
        found = measured_point(self._timed())
        return None if found is None else point_data(found)


# What guesses, in everyday words, by group of drafters.
GUESSERS: Final = {
    "own": "small model",
    "heads": "small head",
    "blocks": "small head",
    "text": "copying rule",
    "itself": "shortcut in the big model",
}
LIMITS: Final = {"oracle": "copy of the big model", "uniform": "die"}


def guesser_of(family: str) -> str:
    """Return what guesses with a family of drafters, in everyday words."""
    entry = find(family, "drafter")
    return LIMITS.get(family) or GUESSERS.get(entry.group if entry else "", "helper")


def point_data(point: MeasuredPoint) -> PointData:
    """Return a measured point for the page, with `predicted` (simulated)."""
    data: PointData = {
        "alpha": round(point.alpha, 6), "gamma": round(point.gamma, 6),
        "guesses": round(point.guesses, 6), "c": round(point.c, 6),
        "verify": round(point.verify, 6), "tokens": round(point.tokens, 6),
        "speedup": round(point.speedup, 6), "predicted": round(point.predicted, 6),
    }  # fmt: skip
    if point.tokens_per_pass is not None:
        data["tokens_per_pass"] = round(point.tokens_per_pass, 6)
    return data


def parts(played: Round) -> tuple[float, float, float]:
    """Return a round's seconds: drafting, the target pass, judging and updating the caches."""
    draft = played.proposed.seconds if played.proposed else 0.0
    scored = played.scored.seconds if played.scored else 0.0
    rest = (
        played.committed.judge_seconds + played.committed.commit_seconds if played.committed else 0
    )
    return round(draft, 6), round(scored, 6), round(rest, 6)


def request_of(header: Header) -> str | list[dict[str, str]]:
    """Return the prompt for a new request: its text, or the turns of a longer conversation."""
    chat = header.chat
    one = chat is None or len(chat.turns) == 1 + bool(header.settings.get("system"))
    return header.prompt if chat is None or one else [asdict(turn) for turn in chat.turns]


def run_facts(
    header: Header, source: Source, nonce: str = "", names: Names | None = None
) -> RunLine:
    """Return the first line of a run; see `lines`."""
    settings = header.settings
    sampling = settings.get("sampling", {})
    entry = find(header.drafter.family, "drafter")
    return {
        "kind": "run",
        "source": source,
        "prompt": header.prompt,
        "request": request_of(header),
        "turns": turns(header.chat) if header.chat else [],
        "drafter": title_of(header.drafter.name),
        "how": entry.how if entry else "",
        "on": title_of(header.target.name),
        "where": f"{header.machine} · {header.dtype}",
        "summary": summary_parts(settings, settings_read_by(header.drafter.name)),
        "greedy": sampling.get("temperature") == 0,
        "lossless": header.lossless,
        "names": names or (header.target.name, header.drafter.name),
        "settings": settings,
        "id": nonce,
        "trace": [dumps(header)],
    }
