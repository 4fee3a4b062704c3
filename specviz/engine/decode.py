"""Record a run and its baseline, plain decoding; or repeat a prompt to compare the two.

`repeat` runs one prompt many times with and without speculation and compares the first tokens. Each
step of the generator adds one run of each kind and yields the counts of all runs so far, so it can
be stopped after any step.
"""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import pi, sqrt
from time import perf_counter
from typing import Final

import torch

from specviz.engine.loop import Decoding, PlainStep, Stop, never, plain
from specviz.engine.protocol import Drafter
from specviz.engine.recorder import Recorder, header
from specviz.models.errors import ServerFault
from specviz.models.graphs import uses_graphs
from specviz.models.prompt import EncodedPrompt, Prompt, encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Baseline, Event, Finished
from specviz.verification.exact.monte_carlo import GTest, g_test_of_two

WARM_UP_ROUNDS: Final = 4  # number of unmeasured rounds, including the prefill
# The same where CUDA graphs are recorded: each shape of a pass or draft when it first occurs.
RECORDING_ROUNDS: Final = 64


def baseline_event(steps: Sequence[PlainStep], sampling: Sampling) -> Baseline:
    """Return the event of plain decoding's passes; with top logits only at temperature 0."""
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

    No clock runs while this generator is suspended, so it can be resumed at any time. On a GPU a
    few unrecorded rounds run first: the first use of each operation takes milliseconds, which would
    otherwise slow the speculative rounds but not the baseline after them.

    Args:
        target: The target model.
        drafter: A drafter that fits it.
        prompt: A text, formatted as the settings say, or the turns of a conversation.
        settings: The run's settings.
        baseline: Whether to measure plain decoding afterwards.
        stop: Called between rounds; if it returns True, the run ends, is recorded as stopped and
            has no baseline.

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
    if target.device.type == "cuda":
        _warm_up_gpu(target, drafter, ids, settings, baseline, stop)
    recorder = yield from _speculate(target, drafter, encoded, settings, stop)
    if baseline and recorder is not None:
        if uses_graphs(target.device):
            gc.collect()  # gives back the memory with the graphs that the warm-up recorded
        yield from _measure_baseline(target, ids, settings, recorder, stop)


def _speculate(
    target: Target,
    drafter: Drafter,
    encoded: EncodedPrompt,
    settings: Settings,
    stop: Stop,
) -> Generator[Event, None, Recorder | None]:
    # Returns what recorded the run; None if it was stopped. Nothing else refers to its memory.
    decoding = Decoding(target, drafter, encoded.ids, settings)
    recorder = Recorder(target, settings)
    yield header(target, drafter, encoded, settings, decoding.rule)
    yield from recorder.vocabulary(encoded.ids)
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
    return None if stopped else recorder


def _measure_baseline(
    target: Target, ids: Sequence[int], settings: Settings, recorder: Recorder, stop: Stop
) -> Generator[Event | PlainStep, None, None]:
    steps: list[PlainStep] = []
    for step in plain(target, ids, settings, stop):
        steps.append(step)
        yield step
    if stop():
        return  # a partial baseline would look like a complete, shorter text
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
    gc.collect()  # earlier runs give back their memory, with its graphs
    warm_up(Decoding(target, drafter, ids, settings).rounds(stop), target.device)
    if baseline:
        warm_up(plain(target, ids, settings, stop), target.device)


def warm_up(rounds: Iterator[object], device: torch.device) -> None:
    """Run the first unmeasured rounds; their memory is freed before this returns."""
    recorded = uses_graphs(device)
    deque(islice(rounds, RECORDING_ROUNDS if recorded else WARM_UP_ROUNDS), maxlen=0)
    del rounds
    if recorded:
        gc.collect()  # sessions contain cycles


TOKENS: Final = 3  # number of first tokens compared: a bug may affect later tokens only
Text = tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """How often each sequence of first tokens occurred.

    Attributes:
        of: Number of runs of each kind in all.
        speculative: Counts of each sequence with speculation. The sequence is shorter if a text
            ended early.
    """

    done: int
    of: int
    speculative: Mapping[Text, int]
    plain: Mapping[Text, int]

    @cached_property
    def test(self) -> GTest:
        """Test, once after the last run, whether both samples come from one distribution."""
        return g_test_of_two(self.speculative, self.plain)

    @property
    def tv(self) -> float:
        """Return the total variation distance between the two samples."""
        both = self.speculative.keys() | self.plain.keys()
        pairs = ((self.speculative.get(t, 0), self.plain.get(t, 0)) for t in both)
        return sum(abs(a - b) for a, b in pairs) / (2 * max(self.done, 1))

    @property
    def noise(self) -> float:
        """Return the expected distance of equal samples, about ½ Σ √(4 p (1 − p) / (π N))."""
        runs = max(self.done, 1)
        both = self.speculative.keys() | self.plain.keys()
        shares = [(self.speculative.get(t, 0) + self.plain.get(t, 0)) / (2 * runs) for t in both]
        return sum(sqrt(4 * p * (1 - p) / (pi * runs)) for p in shares) / 2


def repeat(
    target: Target,
    drafter: Drafter,
    ids: Sequence[int],
    settings: Settings,
    times: int,
    stop: Stop = never,
) -> Iterator[Tally]:
    """Yield the counts after every pair of runs; each pair uses another seed.

    Raises ValueError if see `Decoding`.

    Args:
        target: The target model.
        drafter: A drafter that fits it.
        ids: Token ids of the prompt.
        settings: The settings; the first pair uses their seed.
        times: Number of pairs to run.
        stop: Called before every pair; if it returns True, the comparison ends.
    """
    speculative: Counter[Text] = Counter()
    baseline: Counter[Text] = Counter()
    for number in range(times):
        if stop():
            return
        chosen = replace(settings, seed=_seed(settings.seed, number))
        speculative[first_tokens(target, drafter, ids, chosen)] += 1
        steps = islice(plain(target, ids, chosen), min(TOKENS, chosen.max_new_tokens))
        baseline[tuple(step.token for step in steps)] += 1
        yield Tally(number + 1, times, dict(speculative), dict(baseline))


def first_tokens(target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings) -> Text:
    """Return the first TOKENS tokens of one speculative run."""
    found: list[int] = []
    for result in Decoding(target, drafter, ids, settings).rounds():
        found += result.tokens
        if len(found) >= TOKENS:
            break
    return tuple(found[:TOKENS])


def _seed(first: int, number: int) -> int:
    # Seeds wrap around at 64 bits.
    return (first + number + 2**63) % 2**64 - 2**63
