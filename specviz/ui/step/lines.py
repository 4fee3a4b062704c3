"""A run as lines of JSON for the player: the run, its rounds, its end, the baseline.

Recorded and live runs take the same path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import find, settings_read_by, title_of
from specviz.cost.formula import MeasuredPoint, measured_point
from specviz.figures.charts import add_figures
from specviz.frames import Frame, Scene, frames, make_patch, questions
from specviz.frames.frame import end_card
from specviz.frames.numbers import format_seconds
from specviz.frames.tree import added_tokens, turns
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
from specviz.trace.file import Trace
from specviz.trace.metrics import VERDICT, explain_noise
from specviz.ui.stream import BaselineNext, Source, line

if TYPE_CHECKING:
    from specviz.engine.loop import PlainStep

Names = tuple[str, str]


def lines(
    events: Iterable[Event | PlainStep],
    source: Source,
    nonce: str = "",
    names: Names | None = None,
) -> Iterator[str]:
    """Yield the player's lines, each as soon as its round is complete.

    A pass of the baseline yields an empty text: the run may be interrupted there.

    Args:
        events: The run.
        source: "recorded" or "live".
        nonce: Identifies the run on the page.
        names: Target and drafter as requested, if the trace names them differently (a folder, for
            example), so that the page can request the same run again.
    """
    reel: RunLines | None = None
    for event in events:
        if isinstance(event, Header):
            reel = RunLines(event)
            yield line("run", run_facts(event, source, names) | {"id": nonce})
        elif not isinstance(event, Event):
            yield ""
        elif reel is not None:
            yield from reel.lines(event)
    if reel is not None:
        yield from reel.unfinished()


class RunLines:
    """The run so far, and the round in progress."""

    def __init__(self, header: Header) -> None:
        self.trace = Trace(header)
        self.vocabulary: dict[int, bytes] = {}
        self.round: Round | None = None
        self.earlier: list[Round] = []
        self.last: tuple[Frame, Frame] | None = None  # the first and the last frame of a round

    def lines(self, event: Event) -> Iterator[str]:
        """Yield the lines that one event completes."""
        self.trace.events.append(event)
        match event:
            case Vocabulary():
                self.vocabulary |= {int(k): v.encode("latin-1") for k, v in event.tokens.items()}
            case Proposed() | Scored() | Judged() | Drew() | Committed():
                yield from self._told(event)
            case Finished():
                facts = {"reason": event.reason, "summary": self._summary()}
                yield BaselineNext(line("finished", facts | self._end()))
            case Baseline():
                plain = {"seconds": [round(s, 6) for s in event.seconds]}
                told = {"summary": self._summary(), "point": self._point()}
                yield line("baseline", plain | told | self._end())

    def unfinished(self) -> Iterator[str]:
        """Yield a last round that is incomplete, as far as it got."""
        if self.round is not None:
            yield self._whole(self.round)

    def _told(self, event: Proposed | Scored | Judged | Drew | Committed) -> Iterator[str]:
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
        who = title_of(header.drafter.name)
        scene = Scene(header, self.vocabulary, played, tuple(self.earlier), who)
        self.earlier.append(played)
        told = frames(scene)
        shots = [add_figures(frame) for frame in told]
        self.last = shots[0], shots[-1]
        data = {
            "number": played.number,
            "first": shots[0],
            "then": [make_patch(shots[0], shot) for shot in shots[1:]],
            "asks": _asks(scene, told, shots),
            "brings": [list(token) for token in added_tokens(scene)],
            "seconds": [round(s, 6) for s in parts(played)],
        }
        return line("round", data)

    def _end(self) -> dict[str, Any]:
        """The end card, as a patch on the first frame of the last round; empty without a round."""
        if self.last is None:
            return {}
        begun, last = self.last
        return {"end": make_patch(begun, end_card(self.trace, last))}

    def _summary(self) -> str:
        """The run in one line, with its speed-up once plain decoding is measured.

        Without one if the measurement is too noisy; the end card says why.
        """
        numbers = metrics.summary(self.trace)
        said = f"{count(numbers['tokens'], 'token')} in {format_seconds(numbers['total_seconds'])}"
        plain = self.trace.baseline
        if plain is not None and numbers["speedup"] is not None:
            ratio = f", {numbers['speedup']:.2f} × plain"
            return f"{said}. {VERDICT}" if explain_noise(self.trace, plain) else said + ratio
        ended = self.trace.finished
        stopped = ended is not None and ended.reason == "stopped"
        return said if stopped else f"{said}; plain decoding is measured next"

    def _point(self) -> dict[str, float] | None:
        """The run's point for the Cost tab; None if nothing was drafted or measured."""
        found = measured_point(self.trace)
        if found is None:
            return None
        return {name: round(value, 6) for name, value in numbers_of(found).items()}


def _asks(scene: Scene, told: list[Frame], shots: list[Frame]) -> dict[str, Any]:
    """Return, by step of a verdict as text, the patch from the frame before to its question."""
    asked = questions(scene, told)
    return {str(at): make_patch(shots[at - 1], add_figures(frame)) for at, frame in asked.items()}


def numbers_of(point: MeasuredPoint) -> dict[str, float]:
    """A measured point as plain data, with `predicted` (simulated)."""
    return asdict(point) | {"predicted": point.predicted}


def parts(played: Round) -> tuple[float, float, float]:
    """A round's seconds: drafting, the target pass, judging with updating the caches."""
    draft = played.proposed.seconds if played.proposed else 0.0
    scored = played.scored.seconds if played.scored else 0.0
    rest = (
        played.committed.judge_seconds + played.committed.commit_seconds if played.committed else 0
    )
    return draft, scored, rest


def request_of(header: Header) -> str | list[dict[str, str]]:
    """The prompt for a new request: its text, or the turns of a longer conversation."""
    chat = header.chat
    one = chat is None or len(chat.turns) == 1 + bool(header.settings.get("system"))
    return header.prompt if chat is None or one else [asdict(turn) for turn in chat.turns]


def run_facts(header: Header, source: Source, names: Names | None = None) -> dict[str, Any]:
    """Return the facts on a whole run that the page shows or needs to request it again."""
    settings = header.settings
    sampling = settings.get("sampling", {})
    entry = find(header.drafter.family, "drafter")
    return {
        "source": source,
        "prompt": header.prompt,
        "request": request_of(header),
        "turns": turns(header.chat) if header.chat else [],
        "target": header.target.name,
        "drafter": title_of(header.drafter.name),
        "how": entry.how if entry else "",
        "on": title_of(header.target.name),
        "where": f"{header.machine} · {header.dtype}",
        "summary": summary_parts(settings, settings_read_by(header.drafter.name)),
        "greedy": sampling.get("temperature") == 0,
        "rule": header.rule,
        "lossless": header.lossless,
        "names": list(names or (header.target.name, header.drafter.name)),
        "settings": settings,
    }
