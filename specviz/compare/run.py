"""Runs the lanes of a race one after the other, each warm, and says what happens as it happens.

Rule: never two at once, and nothing is measured but by the engine's own clocks, which stand still
while this yields.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from specviz import engine
from specviz.compare.measures import seconds_of
from specviz.compare.race import PLAIN, Lane, Race
from specviz.compare.results import (
    Ended,
    Opening,
    Progress,
    RaceEvent,
    Report,
    Started,
    spent,
    whole,
)
from specviz.engine.decode import baseline_event, warm_up
from specviz.engine.loop import Decoding
from specviz.engine.protocol import Drafter
from specviz.engine.recorder import Recorder, header
from specviz.engine.round import PlainStep, Stop, never
from specviz.models.prompt import EncodedPrompt, encode_prompt
from specviz.models.target import Target
from specviz.models.weights import causal
from specviz.settings.settings import BadSettings
from specviz.trace.events import Committed, EndReason, Event, Finished, Header, ModelCard
from specviz.trace.file import Trace
from specviz.verification import Drawn, choose_rule

TURNS: Final = 3  # runs of a short lane, whose one run a busy moment would decide
SHORT: Final = 1.0  # seconds: a lane that takes less is short
CARD: Final = ModelCard(PLAIN, PLAIN, 0, 0, None)


@dataclass(frozen=True, slots=True)
class Field:
    """What a race runs on. drafters: by name of the lane. reading: the prompt."""

    race: Race
    target: Target
    drafters: Mapping[str, Drafter]
    reading: EncodedPrompt

    @property
    def ids(self) -> Sequence[int]:
        """The prompt's tokens."""
        return self.reading.ids


def run(
    target: Target, drafters: Mapping[str, Drafter], race: Race, stop: Stop = never
) -> Generator[RaceEvent, None, None]:
    """The race: its order, then lane by lane what each does; then the short ones in turns again.

    drafters: by name of the lane. stop: asked between rounds; a lane that is stopped ends as far
    as it came, and no other starts. Raises BadPrompt, or BadSettings naming the lane that cannot
    run, before any lane runs.
    """
    field = Field(race, target, drafters, encode_prompt(target, race.prompt, race.shared))
    for lane in race.lanes:
        _check(field, lane)
    own = {lane.name: drafters[lane.name].weights(target) for lane in race.lanes}
    yield Opening(race.order, causal(target.model), own)
    lanes = {lane.name: lane for lane in race.lanes}
    left = set(race.order)
    for turn, (place, name) in product(range(1, TURNS + 1), enumerate(race.order, start=1)):
        if name not in left:
            continue
        if stop():
            return
        yield Started(name, place, turn)
        for event in _plain(field, stop) if name == PLAIN else _lane(field, lanes[name], stop):
            if isinstance(event, Ended) and not _short(event.trace):
                left.discard(name)
            yield event


def _short(trace: Trace) -> bool:
    """Whether a lane came to its end so soon that it runs again."""
    return whole(trace) and seconds_of(trace) < SHORT


def _check(field: Field, lane: Lane) -> None:
    """Raise BadSettings where this drafter cannot run with these settings."""
    try:
        Decoding(field.target, field.drafters[lane.name], field.ids, lane.settings)
    except ValueError as error:
        raise BadSettings(f"Lane {lane.name!r}: {error}") from error


def _lane(field: Field, lane: Lane, stop: Stop) -> Iterator[RaceEvent]:
    """A drafter's lane: a few rounds to warm up, then a recorded run."""
    target, drafter = field.target, field.drafters[lane.name]
    warm_up(Decoding(target, drafter, field.ids, lane.settings).rounds(stop))
    events = engine.run(
        target, drafter, field.race.prompt, lane.settings, baseline=False, stop=stop
    )
    first = next(events)
    assert isinstance(first, Header)
    yield Report(lane.name, first)
    trace, tokens, seconds = Trace(first), 0, 0.0
    for event in events:
        trace.events.append(event)
        yield Report(lane.name, event)
        seconds += spent(event)
        if isinstance(event, Committed):
            tokens += len(event.tokens)
            yield Progress(lane.name, tokens, seconds)
    yield Ended(lane.name, trace)


def _plain(field: Field, stop: Stop) -> Iterator[RaceEvent]:
    """Plain decoding's lane. Its trace has no rounds: all that it did is its baseline event."""
    target, settings = field.target, field.race.shared
    warm_up(engine.plain(target, field.ids, settings, stop))
    trace = Trace(_header(field))
    yield Report(PLAIN, trace.header)
    steps: list[PlainStep] = []
    seconds = 0.0
    for step in engine.plain(target, field.ids, settings, stop):
        steps.append(step)
        seconds += step.seconds
        yield Progress(PLAIN, len(steps), seconds)
    for event in _ending(field, steps):
        trace.events.append(event)
        yield Report(PLAIN, event)
    yield Ended(PLAIN, trace)


def _header(field: Field) -> Header:
    """Plain decoding's: no drafter, and the rule that draws a token from p itself."""
    race, anyone = field.race, field.drafters[field.race.lanes[0].name]
    rule = choose_rule("auto", Drawn.POINT_MASS, race.sampling)
    known = header(field.target, anyone, field.reading, race.shared, rule)
    return replace(known, drafter=CARD)


def _ending(field: Field, steps: Sequence[PlainStep]) -> Iterator[Event]:
    """What plain decoding leaves: the bytes of its tokens, how it ended, and its passes."""
    settings, tokens = field.race.shared, [step.token for step in steps]
    reason: EndReason = "limit" if len(tokens) == settings.max_new_tokens else "stopped"
    reason = "eos" if tokens and tokens[-1] in field.target.eos else reason
    yield from Recorder(field.target, settings).words([*field.ids, *tokens])
    yield Finished(reason, 0.0, 0)  # no drafter, so nothing is held for one
    yield baseline_event(steps, settings.sampling)
