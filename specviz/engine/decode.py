"""A recorded run: the loop, its recorder, and plain decoding after it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from time import perf_counter
from typing import Final

from specviz.engine.loop import Decoding, plain
from specviz.engine.protocol import Drafter
from specviz.engine.recorder import Recorder, header
from specviz.engine.round import PlainStep, Stop, never
from specviz.models.errors import ServerFault
from specviz.models.prompt import Prompt, encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Baseline, Event, Finished

WARM_UP_ROUNDS: Final = 4  # rounds, the prompt's among them, before a clock counts


def baseline_event(steps: Sequence[PlainStep], sampling: Sampling) -> Baseline:
    """Plain decoding's passes as an event; top logits and margins at temperature 0 only."""
    return Baseline(
        [step.token for step in steps],
        [step.seconds for step in steps],
        [step.margin for step in steps] if sampling.greedy else None,
        [step.top for step in steps] if sampling.greedy else None,
    )


def run(
    target: Target,
    drafter: Drafter,
    prompt: Prompt,
    settings: Settings,
    *,
    baseline: bool = True,
    stop: Stop = never,
) -> Generator[Event, None, None]:
    """A recorded run: its header, the events round by round, the end, then plain decoding.

    See `run_stepwise`, whose events these are.
    """
    steps = run_stepwise(target, drafter, prompt, settings, baseline=baseline, stop=stop)
    with closing(steps):
        for step in steps:
            if not isinstance(step, PlainStep):
                yield step


def run_stepwise(
    target: Target,
    drafter: Drafter,
    prompt: Prompt,
    settings: Settings,
    *,
    baseline: bool = True,
    stop: Stop = never,
) -> Generator[Event | PlainStep, None, None]:
    """The events of a recorded run, and each pass of its baseline as soon as it is measured.

    No clock runs while this generator is suspended, so it may be resumed at any later time. prompt:
    a text, sent as the settings say, or a conversation's turns. stop: asked between rounds; a run
    that is stopped says so and measures no baseline. A GPU runs a few rounds first that are not
    recorded: its first use of an operation costs milliseconds, which would count for the rounds and
    not for plain decoding, which comes after them. Raises BadPrompt, BadSettings, MismatchedRule or
    BadScores, each with a sentence; ServerFault if a served target fails: if that was before the
    end of the text, the run's end, as of one that was stopped, is yielded first.
    """
    reading = encode_prompt(target, prompt, settings)
    ids = reading.ids
    decoding = Decoding(target, drafter, ids, settings)
    recorder = Recorder(target, settings)
    if target.device.type == "cuda":
        _warm_up_gpu(target, drafter, ids, settings, baseline, stop)
    yield header(target, drafter, reading, settings, decoding.rule)
    yield from recorder.words(ids)
    spent = 0.0
    try:
        for played in decoding.rounds(stop):
            start = perf_counter()
            events = recorder.round(played)
            spent += perf_counter() - start
            yield from events
    except ServerFault:
        yield Finished("stopped", spent)
        raise
    start = perf_counter()
    held = decoding.held_bytes
    spent += perf_counter() - start
    stopped = not decoding.ended
    yield Finished("stopped" if stopped else decoding.reason, spent, held)
    if baseline and not stopped:
        yield from _measure_baseline(target, ids, settings, recorder, stop)


def _measure_baseline(
    target: Target, ids: Sequence[int], settings: Settings, recorder: Recorder, stop: Stop
) -> Generator[Event | PlainStep, None, None]:
    """Each pass of plain decoding, then its events; no events if it was stopped half-way."""
    steps: list[PlainStep] = []
    for step in plain(target, ids, settings, stop):
        steps.append(step)
        yield step
    if stop():
        return  # half a baseline would be no measure, and would read as a shorter text
    yield from recorder.words([step.token for step in steps])
    yield baseline_event(steps, settings.sampling)


def _warm_up_gpu(
    target: Target,
    drafter: Drafter,
    ids: Sequence[int],
    settings: Settings,
    baseline: bool,
    stop: Stop,
) -> None:
    """A few rounds that nobody measures, and plain passes where those are measured too."""
    warm_up(Decoding(target, drafter, ids, settings).rounds(stop))
    if baseline:
        warm_up(plain(target, ids, settings, stop))


def warm_up(rounds: Iterator[object]) -> None:
    """Play WARM rounds that nobody measures; what they held is gone when this returns."""
    for _ in islice(rounds, WARM_UP_ROUNDS):
        pass
