"""Time the methods in turns and summarize them as rows.

In each turn, every method decodes the same prompt once, in rotating order. A ratio is the median of
the ratios within each turn, so a machine that becomes slower affects all methods alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any, Final

import torch

from specviz.bench.limit import Limiter, MemoryLimit
from specviz.bench.methods import PLAIN, Method, Outcome, Prompt
from specviz.bench.noise import explain_row_noise
from specviz.bench.outcomes import sum_tallies
from specviz.engine.loop import Stop, never
from specviz.models.devices import describe_device, synchronize
from specviz.models.target import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One method in one domain; speeds are medians over `runs` calls, including the prefill.

    Values that a method does not report are None.

    Attributes:
        device: The machine in words.
        ratio_to_transformers: The speed, divided by the speed of the same method in
            transformers; None if there is no such method.
        tokens_per_pass: New tokens per target pass, over all runs.
        draft_cost: Drafting time per token, in units of a plain target pass.
        round_draft_cost: Drafting time per round, in units of a plain target pass.
        round_check_cost: Time per round of the target pass, judging and committing, in
            units of a plain target pass.
        alpha: See outcomes.py.
        accepted_length: See outcomes.py.
        guesses_per_round: Guesses per round, without the prefill.
        kept_by_depth: See outcomes.py.
        reliability: Predicted against observed acceptance, see outcomes.py.
        held_bytes: The drafter's memory at the end of a run, the largest of all runs, see
            models/memory.py.
        partial: Whether the run was stopped before every turn of the domain was done.
        memory_bandwidth: Bytes per second that this machine reads with this number of
            threads.
        limit_tokens_per_second: Plain passes per second that this bandwidth allows; see
            limit.py.
        share_of_limit: tokens_per_second divided by the limit, for methods with one token
            per pass.
        tokens_per_second_after_prompt: The speed without the prompt's pass and the token
            from it; None if a method does not report it.
        share_of_limit_after_prompt: tokens_per_second_after_prompt divided by the limit.
        same_text: Whether every run gave the same tokens as plain decoding; None if this is
            not compared.
        noise: Why the row's times are unreliable, as a clause; None if they are plausible.
    """

    name: str
    domain: str
    device: str
    dtype: str
    threads: int
    temperature: float
    gamma: int
    runs: int
    tokens_per_second: float
    ratio_to_plain: float
    ratio_to_transformers: float | None
    tokens_per_pass: float
    draft_cost: float | None
    round_draft_cost: float | None
    round_check_cost: float | None
    alpha: float | None
    accepted_length: float | None
    guesses_per_round: float | None
    kept_by_depth: list[float | None] | None
    judged_by_depth: list[int] | None
    reliability: list[list[float]] | None
    held_bytes: int | None
    partial: bool = False
    memory_bandwidth: float | None = None
    limit_tokens_per_second: float | None = None
    share_of_limit: float | None = None
    tokens_per_second_after_prompt: float | None = None
    share_of_limit_after_prompt: float | None = None
    same_text: bool | None = None
    noise: str | None = None


@dataclass(frozen=True, slots=True)
class TimedCall:
    """One call: its outcome, its seconds, and the memory limit measured in its turn."""

    outcome: Outcome
    seconds: float
    limit: MemoryLimit | None = None

    @property
    def speed(self) -> float:
        """New tokens per second."""
        return self.outcome.tokens / self.seconds


Turns = Mapping[str, Sequence[TimedCall]]  # calls of each method; equal indices belong to one turn


def count_calls(
    methods: Sequence[Method], domains: Mapping[str, Sequence[Prompt]], repeats: int
) -> int:
    """Return how many calls `measure` makes, including warm-up calls."""
    return len(methods) * (1 + repeats * sum(map(len, domains.values())))


@dataclass(frozen=True, slots=True)
class Progress:
    """Callbacks with which a caller follows and stops a measurement.

    Attributes:
        stop: Called before every call; if it returns True, the measurement stops.
        tick: Called after every call.
    """

    stop: Stop = never
    tick: Callable[[], object] = lambda: None


NO_PROGRESS: Final = Progress()


def measure(
    target: Target,
    methods: Sequence[Method],
    domains: Mapping[str, Sequence[Prompt]],
    repeats: int,
    watch: Progress = NO_PROGRESS,
    limiter: Limiter | None = None,
) -> Iterator[Row]:
    """Yield each domain's rows when it is done; the first call of each method is a warm-up.

    If the measurement is stopped, rows of the complete turns of the current domain come last.

    Args:
        target: The target model.
        methods: What to measure; one of them is plain decoding.
        domains: The prompts of each domain.
        repeats: How often each prompt is decoded.
        watch: Stops and follows the measurement.
        limiter: Measures the memory limit in every turn; without it rows have no limit.
    """
    for method in methods:
        if watch.stop():
            return
        method.decode(next(iter(domains.values()))[0])
        watch.tick()
    for domain, prompts in domains.items():
        queue = list(prompts) * repeats
        turns = take_turns(target, methods, queue, watch, limiter)
        partial = len(turns[PLAIN]) < len(queue)
        for method in methods if turns[PLAIN] else ():
            row = _row(method, domain, target, turns)
            noise = explain_row_noise(row, turns[method.name], turns[PLAIN], len(prompts))
            yield replace(row, partial=partial, noise=noise)
        if partial:
            return


def take_turns(
    target: Target,
    methods: Sequence[Method],
    prompts: Sequence[Prompt],
    watch: Progress = NO_PROGRESS,
    limiter: Limiter | None = None,
) -> Turns:
    """Run every method on every prompt, in turns that start with another method each."""
    turns: dict[str, list[TimedCall]] = {method.name: [] for method in methods}
    for turn, prompt in enumerate(prompts):
        first = turn % len(methods)
        limit = None if limiter is None else limiter(prompt)
        timed: dict[str, TimedCall] = {}
        for method in [*methods[first:], *methods[:first]]:
            if watch.stop():
                return turns
            timed[method.name] = _timed(target, method, prompt)
            watch.tick()
        for name, one in timed.items():
            turns[name].append(replace(one, limit=limit))
    return turns


def tokens_per_pass(outcomes: Sequence[Outcome]) -> float:
    """Return new tokens per target pass over all runs."""
    return sum(o.tokens for o in outcomes) / sum(o.passes for o in outcomes)


def guess_statistics(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return statistics of the guesses of all runs, as fields of a row; None if unknown."""
    tallies = [outcome.tally for outcome in outcomes if outcome.tally is not None]
    tally = sum_tallies(tallies) if tallies else None
    rounds = tally.rounds - len(tallies) if tally else 0  # the prefill of each run drafts nothing
    return {
        "alpha": tally and tally.alpha,
        "accepted_length": tally and tally.accepted_length,
        "guesses_per_round": tally.guesses / rounds if tally and rounds else None,
        "kept_by_depth": tally and tally.kept_by_depth,
        "judged_by_depth": tally and [depth.judged for depth in tally.depths],
        "reliability": tally and tally.reliability,
    }


def _timed(target: Target, method: Method, prompt: Prompt) -> TimedCall:
    synchronize(target.device)
    start = perf_counter()
    outcome = method.decode(prompt)
    synchronize(target.device)
    seconds = perf_counter() - start
    return TimedCall(outcome.finalize(), seconds)


def _row(method: Method, domain: str, target: Target, turns: Turns) -> Row:
    mine, plain = turns[method.name], turns[PLAIN]
    outcomes = [timed.outcome for timed in mine]
    other = method.counterpart or ""
    plain_passes = [timed.outcome.pass_seconds for timed in plain]
    return Row(
        name=method.name,
        domain=domain,
        device=describe_device(target.device),
        dtype=str(target.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        temperature=method.settings.sampling.temperature,
        gamma=method.settings.gamma,
        runs=len(mine),
        tokens_per_second=median(timed.speed for timed in mine),
        ratio_to_plain=_ratio(mine, plain),
        ratio_to_transformers=_ratio(mine, turns[other]) if other in turns else None,
        tokens_per_pass=tokens_per_pass(outcomes),
        draft_cost=_cost([o.draft_seconds for o in outcomes], plain_passes),
        round_draft_cost=_cost([o.drafting for o in outcomes], plain_passes),
        round_check_cost=_cost([o.checking for o in outcomes], plain_passes),
        **guess_statistics(outcomes),
        held_bytes=max((o.held_bytes for o in outcomes if o.held_bytes is not None), default=None),
        **_limits(mine, method.one_by_one),
        tokens_per_second_after_prompt=_median(o.speed_after_prompt for o in outcomes),
        same_text=None if method.name == PLAIN else _same_text(mine, plain),
    )


def _limits(mine: Sequence[TimedCall], one_by_one: bool) -> dict[str, Any]:
    limited = [(timed.speed, timed.limit) for timed in mine if timed.limit is not None]
    if not limited:
        return {}
    shares = [speed / limit.passes for speed, limit in limited]
    after = [
        speed / timed.limit.passes
        for timed in mine
        if timed.limit is not None and (speed := timed.outcome.speed_after_prompt) is not None
    ]
    return {
        "memory_bandwidth": median(limit.bandwidth for _, limit in limited),
        "limit_tokens_per_second": median(limit.passes for _, limit in limited),
        "share_of_limit": median(shares) if one_by_one else None,
        "share_of_limit_after_prompt": _median(after) if one_by_one else None,
    }


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _same_text(mine: Sequence[TimedCall], plain: Sequence[TimedCall]) -> bool | None:
    pairs = [(a.outcome.text, b.outcome.text) for a, b in zip(mine, plain, strict=True)]
    comparable = [(text, other) for text, other in pairs if text is not None and other is not None]
    return all(text == other for text, other in comparable) if comparable else None


def _ratio(mine: Sequence[TimedCall], theirs: Sequence[TimedCall]) -> float:
    return median(a.speed / b.speed for a, b in zip(mine, theirs, strict=True))


def _cost(mine: Sequence[float | None], plain: Sequence[float | None]) -> float | None:
    # In units of a plain pass: the median of the known times of each, divided.
    spent, passes = _median(mine), _median(plain)
    return spent / passes if spent is not None and passes else None
