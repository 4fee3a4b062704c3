"""Record a run of the loop, followed by plain decoding as the baseline."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from time import perf_counter
from typing import Final

from specviz.engine.loop import Decoding, PlainStep, Stop, never, plain
from specviz.engine.protocol import Drafter
from specviz.engine.recorder import Recorder, header
from specviz.models.errors import ServerFault
from specviz.models.prompt import Prompt, encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Baseline, Event, Finished

WARM_UP_ROUNDS: Final = 4  # unmeasured rounds, including the prefill


def baseline_event(steps: Sequence[PlainStep], sampling: Sampling) -> Baseline:
    """Return the event that records the passes of plain decoding.

    It includes top logits and margins at temperature 0 only.
    """
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
    """Yield the events of a recorded run: header, rounds, end, and then plain decoding.

    See `run_stepwise` for arguments and exceptions.
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
    """Yield the events of a recorded run, and each baseline pass as soon as it is measured.

    No clock runs while this generator is suspended, so it can be resumed at any time. On a GPU
    a few unrecorded rounds run first: the first use of each operation takes milliseconds, which
    would otherwise slow the speculative rounds but not the baseline after them.

    Args:
        target: The target model.
        drafter: A drafter that fits it.
        prompt: A text, sent as the settings say, or the turns of a conversation.
        settings: The run's settings.
        baseline: Whether to measure plain decoding afterwards.
        stop: Called between rounds; True ends the run. It is then recorded as stopped and has no
            baseline.

    Raises:
        BadPrompt: The prompt cannot be used.
        BadSettings: A setting does not suit the target or the drafter.
        MismatchedRule: The rule is not lossless for this drafter.
        BadScores: The target computed NaN.
        ServerFault: A target on a server failed. If this happens before the end of the text, the
            `Finished` event of a stopped run is yielded first.
    """
    encoded = encode_prompt(target, prompt, settings)
    ids = encoded.ids
    decoding = Decoding(target, drafter, ids, settings)
    recorder = Recorder(target, settings)
    if target.device.type == "cuda":
        _warm_up_gpu(target, drafter, ids, settings, baseline, stop)
    yield header(target, drafter, encoded, settings, decoding.rule)
    yield from recorder.vocabulary(ids)
    recording = 0.0
    try:
        for result in decoding.rounds(stop):
            start = perf_counter()
            events = recorder.round(result)
            recording += perf_counter() - start
            yield from events
    except ServerFault:
        yield Finished("stopped", recording)
        raise
    start = perf_counter()
    held_bytes = decoding.held_bytes
    recording += perf_counter() - start
    stopped = not decoding.ended
    yield Finished("stopped" if stopped else decoding.reason, recording, held_bytes)
    if baseline and not stopped:
        yield from _measure_baseline(target, ids, settings, recorder, stop)


def _measure_baseline(
    target: Target, ids: Sequence[int], settings: Settings, recorder: Recorder, stop: Stop
) -> Generator[Event | PlainStep, None, None]:
    """Yield each pass of plain decoding, then its events unless `stop` ended it."""
    steps: list[PlainStep] = []
    for step in plain(target, ids, settings, stop):
        steps.append(step)
        yield step
    if stop():
        return  # a partial baseline would look like a shorter text
    yield from recorder.vocabulary([step.token for step in steps])
    yield baseline_event(steps, settings.sampling)


def _warm_up_gpu(
    target: Target,
    drafter: Drafter,
    ids: Sequence[int],
    settings: Settings,
    baseline: bool,
    stop: Stop,
) -> None:
    """Run a few unmeasured rounds, and a few plain passes if a baseline is measured."""
    warm_up(Decoding(target, drafter, ids, settings).rounds(stop))
    if baseline:
        warm_up(plain(target, ids, settings, stop))


def warm_up(rounds: Iterator[object]) -> None:
    """Run WARM_UP_ROUNDS unmeasured rounds; their memory is freed before this returns."""
    for _ in islice(rounds, WARM_UP_ROUNDS):
        pass
