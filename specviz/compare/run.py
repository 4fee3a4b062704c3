"""Run the lanes of a race one after the other, each after a warm-up, and yield events.

Two lanes never run at the same time. The engine measures times, and its clocks stop while this
generator is suspended.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from specviz import engine
from specviz.catalog.loading import load_drafter, load_target
from specviz.compare.lanes import RACE_TEMPERATURE, build_race, parse_lane, shared_options
from specviz.compare.measures import is_finished, total_seconds
from specviz.compare.race import (
    PLAIN,
    Lane,
    LaneEnded,
    LaneEvent,
    LaneProgress,
    LaneStarted,
    Race,
    RaceEvent,
    RaceStarted,
    Results,
    event_seconds,
)
from specviz.engine.decode import baseline_event, warm_up
from specviz.engine.loop import Decoding, PlainStep, Stop, never
from specviz.engine.protocol import Drafter
from specviz.engine.recorder import Recorder, header
from specviz.models.passes import causal_lm_weights
from specviz.models.prompt import EncodedPrompt, encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import BadSettings
from specviz.trace.events import Committed, EndReason, Event, Finished, Header, ModelCard
from specviz.trace.file import Trace
from specviz.verification import Drawn, choose_rule

MAX_TURNS: Final = 3  # runs of a short lane: a single run could be distorted by other work
SHORT_SECONDS: Final = 1.0  # seconds; a lane that takes less time is short
CARD: Final = ModelCard(PLAIN, PLAIN, 0, 0, None)


@dataclass(frozen=True, slots=True)
class RaceContext:
    """The race with its models and its encoded prompt.

    drafters: the drafter of each lane, by the lane's name.
    """

    race: Race
    target: Target
    drafters: Mapping[str, Drafter]
    prompt: EncodedPrompt

    @property
    def ids(self) -> Sequence[int]:
        """The prompt's tokens."""
        return self.prompt.ids


def compare(
    prompt: str,
    lanes: Sequence[str],
    target: str = "house",
    *,
    order_seed: int | None = None,
    **settings: Any,
) -> Results:
    """Run two to four lanes and plain decoding on one prompt, as `specviz compare` does.

    Args:
        prompt: The prompt.
        lanes: Drafters, by themselves or with settings of their own: "draft-model gamma=8".
        target: The target: a name that `specviz models` lists, a folder or a Hub id.
        order_seed: Seed of the order of the lanes; a new one each time if None.
        settings: Settings of all lanes, such as `temperature=0.7`. Without a temperature, decoding
            is greedy; the drafters' own defaults apply to all other settings.

    Returns:
        The results. `show` replays them; a notebook does so if they end a cell.

    Raises:
        BadSettings: If the lanes cannot be compared, or a setting is unknown or invalid.
    """
    options = shared_options({"temperature": RACE_TEMPERATURE, **settings})
    requests = [parse_lane(text, options) for text in lanes]
    seed = secrets.randbits(32) if order_seed is None else order_seed
    race = build_race(prompt, target, requests, seed)
    loaded = load_target(target)
    drafters = {lane.name: load_drafter(lane.drafter, loaded) for lane in race.lanes}
    results = Results(race)
    for event in run(loaded, drafters, race):
        results.add(event)
    return results


def run(
    target: Target, drafters: Mapping[str, Drafter], race: Race, stop: Stop = never
) -> Generator[RaceEvent, None, None]:
    """Run all lanes once in their order, then repeat the short ones in turns.

    Raises BadPrompt before any lane runs; BadSettings before any lane runs, naming the lane that
    cannot run.

    Args:
        target: The target.
        drafters: The drafters, by name of the lane.
        race: What to run.
        stop: Called between rounds; if it returns True, the lane ends and no other starts.
    """
    context = RaceContext(race, target, drafters, encode_prompt(target, race.prompt, race.shared))
    for lane in race.lanes:
        _check(context, lane)
    own = {lane.name: drafters[lane.name].weights(target) for lane in race.lanes}
    yield RaceStarted(race.order, causal_lm_weights(target.model), own)
    lanes = {lane.name: lane for lane in race.lanes}
    remaining = set(race.order)
    for turn, (number, name) in product(range(1, MAX_TURNS + 1), enumerate(race.order, start=1)):
        if name not in remaining:
            continue
        if stop():
            return
        yield LaneStarted(name, number, turn)
        for event in _plain(context, stop) if name == PLAIN else _lane(context, lanes[name], stop):
            if isinstance(event, LaneEnded) and not _is_short(event.trace):
                remaining.discard(name)
            yield event


def _is_short(trace: Trace) -> bool:
    return is_finished(trace) and total_seconds(trace) < SHORT_SECONDS


def _check(context: RaceContext, lane: Lane) -> None:
    try:
        Decoding(context.target, context.drafters[lane.name], context.ids, lane.settings)
    except ValueError as error:
        raise BadSettings(f"Lane {lane.name!r}: {error}") from error


def _lane(context: RaceContext, lane: Lane, stop: Stop) -> Iterator[RaceEvent]:
    target, drafter = context.target, context.drafters[lane.name]
    warm_up(Decoding(target, drafter, context.ids, lane.settings).rounds(stop), target.device)
    events = engine.run(
        target, drafter, context.race.prompt, lane.settings, baseline=False, stop=stop
    )
    first = next(events)
    assert isinstance(first, Header)
    yield LaneEvent(lane.name, first)
    trace, tokens, seconds = Trace(first), 0, 0.0
    for event in events:
        trace.events.append(event)
        yield LaneEvent(lane.name, event)
        seconds += event_seconds(event)
        if isinstance(event, Committed):
            tokens += len(event.tokens)
            yield LaneProgress(lane.name, tokens, seconds)
    yield LaneEnded(lane.name, trace)


def _plain(context: RaceContext, stop: Stop) -> Iterator[RaceEvent]:
    target, settings = context.target, context.race.shared
    warm_up(engine.plain(target, context.ids, settings, stop), target.device)
    trace = Trace(_header(context))
    yield LaneEvent(PLAIN, trace.header)
    steps: list[PlainStep] = []
    seconds = 0.0
    for step in engine.plain(target, context.ids, settings, stop):
        steps.append(step)
        seconds += step.seconds
        yield LaneProgress(PLAIN, len(steps), seconds)
    for event in _ending(context, steps):
        trace.events.append(event)
        yield LaneEvent(PLAIN, event)
    yield LaneEnded(PLAIN, trace)


def _header(context: RaceContext) -> Header:
    race, anyone = context.race, context.drafters[context.race.lanes[0].name]
    rule = choose_rule("auto", Drawn.POINT_MASS, race.sampling)
    known = header(context.target, anyone, context.prompt, race.shared, rule)
    return replace(known, drafter=CARD)


def _ending(context: RaceContext, steps: Sequence[PlainStep]) -> Iterator[Event]:
    settings, tokens = context.race.shared, [step.token for step in steps]
    reason: EndReason = "limit" if len(tokens) == settings.max_new_tokens else "stopped"
    reason = "eos" if tokens and tokens[-1] in context.target.eos else reason
    yield from Recorder(context.target, settings).vocabulary([*context.ids, *tokens])
    yield Finished(reason, 0.0, 0)  # there is no drafter, so it uses no memory
    yield baseline_event(steps, settings.sampling)
