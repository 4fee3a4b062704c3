"""Times the methods in turns and makes rows of it.

Rule: every method meets every prompt once per repeat, in an order that rotates, and a ratio is the
median of ratios within one turn, so that a machine that slows down slows all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any, Final

import torch

from specviz.bench.limit import Limiter, MemoryLimit
from specviz.bench.methods import PLAIN, Method, Outcome, Prompt
from specviz.bench.outcomes import sum_tallies
from specviz.engine.loop import Stop, never
from specviz.models.devices import describe_device, synchronize
from specviz.models.target import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One method in one domain. Speeds are medians over `runs` calls, prefill included.

    ratio_to_plain, ratio_to_transformers: of tokens per second; None where there is no
    counterpart. tokens_per_pass: new tokens by target passes, of all runs together. draft_cost,
    round_draft_cost, round_check_cost: seconds of one drafted token; of drafting a round; of its
    target pass, judging and keeping; each by those of one plain target pass, None where it cannot
    be known. The rest is None where the method does not tell: guesses_per_round counts rounds after
    the prefill; alpha, accepted_length, kept_by_depth: see outcomes.py;
    judged_by_depth: the guesses judged at the positions of each depth; held_bytes: what the drafter
    held in memory at the end of a run, see models/memory.py, the most of all runs. partial: the
    person stopped it before every turn of the domain was taken. memory_bandwidth: bytes that this
    machine reads a second with as many threads. limit_tokens_per_second: the plain passes a second
    that this allows, see limit.py. share_of_limit: tokens_per_second by it, only for ways of one
    token a pass. same_text: whether every run wrote plain decoding's tokens, where it is compared.
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
    held_bytes: int | None
    partial: bool = False
    memory_bandwidth: float | None = None
    limit_tokens_per_second: float | None = None
    share_of_limit: float | None = None
    same_text: bool | None = None


@dataclass(frozen=True, slots=True)
class TimedCall:
    """One call: what it made, the seconds it took, and what memory allowed in its turn."""

    outcome: Outcome
    seconds: float
    limit: MemoryLimit | None = None

    @property
    def speed(self) -> float:
        """New tokens per second."""
        return self.outcome.tokens / self.seconds


Turns = Mapping[str, Sequence[TimedCall]]  # by method, its calls, those of one turn at one place


def count_calls(
    methods: Sequence[Method], domains: Mapping[str, Sequence[Prompt]], repeats: int
) -> int:
    """How many calls `measure` makes, those that warm up among them."""
    return len(methods) * (1 + repeats * sum(map(len, domains.values())))


@dataclass(frozen=True, slots=True)
class Progress:
    """Who waits for it. stop: asked before every call. tick: told after every call."""

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
    """Rows, as soon as a domain is done. The first call of each method only warms up.

    limiter: measures in every turn what memory allows; rows have no limit without it.

    Where it is stopped, the rows of that domain rest on its whole turns, and are the last; there
    are none of a domain without a whole turn.
    """
    for method in methods:
        if watch.stop():
            return
        method.decode(next(iter(domains.values()))[0])
        watch.tick()
    for domain, prompts in domains.items():
        asked = list(prompts) * repeats
        turns = take_turns(target, methods, asked, watch, limiter)
        partial = len(turns[PLAIN]) < len(asked)
        for method in methods if turns[PLAIN] else ():
            yield replace(_row(method, domain, target, turns), partial=partial)
        if partial:
            return


def take_turns(
    target: Target,
    methods: Sequence[Method],
    prompts: Sequence[Prompt],
    watch: Progress = NO_PROGRESS,
    limiter: Limiter | None = None,
) -> Turns:
    """Every method on every prompt, the first method of a turn being another each time.

    Where it is stopped, what the turn in progress had is dropped, since ratios are within turns.
    """
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
    """New tokens by target passes, of all runs together."""
    return sum(o.tokens for o in outcomes) / sum(o.passes for o in outcomes)


def guess_statistics(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What became of the guesses of all runs together, as the fields of a row; None untold."""
    tallies = [outcome.tally for outcome in outcomes if outcome.tally is not None]
    fates = sum_tallies(tallies) if tallies else None
    rounds = fates.rounds - len(tallies) if fates else 0  # the prefill of each run drafts nothing
    return {
        "alpha": fates and fates.alpha,
        "accepted_length": fates and fates.accepted_length,
        "guesses_per_round": fates.guesses / rounds if fates and rounds else None,
        "kept_by_depth": fates and fates.kept_by_depth,
        "judged_by_depth": fates and [depth.judged for depth in fates.depths],
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
    usual = [timed.outcome.pass_seconds for timed in plain]
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
        draft_cost=_cost([o.draft_seconds for o in outcomes], usual),
        round_draft_cost=_cost([o.drafting for o in outcomes], usual),
        round_check_cost=_cost([o.checking for o in outcomes], usual),
        **guess_statistics(outcomes),
        held_bytes=max((o.held_bytes for o in outcomes if o.held_bytes is not None), default=None),
        **_limits(mine, method.one_by_one),
        same_text=None if method.name == PLAIN else _same_text(mine, plain),
    )


def _limits(mine: Sequence[TimedCall], one_by_one: bool) -> dict[str, Any]:
    """The limit and the share of it, as the fields of a row: medians over turns."""
    known = [(timed.speed, timed.limit) for timed in mine if timed.limit is not None]
    if not known:
        return {}
    shares = [speed / limit.passes for speed, limit in known]
    return {
        "memory_bandwidth": median(limit.bandwidth for _, limit in known),
        "limit_tokens_per_second": median(limit.passes for _, limit in known),
        "share_of_limit": median(shares) if one_by_one else None,
    }


def _same_text(mine: Sequence[TimedCall], plain: Sequence[TimedCall]) -> bool | None:
    """Whether all texts are plain decoding's; None where the method does not give its text."""
    pairs = [(a.outcome.text, b.outcome.text) for a, b in zip(mine, plain, strict=True)]
    known = [(text, other) for text, other in pairs if text is not None and other is not None]
    return all(text == other for text, other in known) if known else None


def _ratio(mine: Sequence[TimedCall], theirs: Sequence[TimedCall]) -> float:
    """The median over turns of my speed by theirs."""
    return median(a.speed / b.speed for a, b in zip(mine, theirs, strict=True))


def _cost(mine: Sequence[float | None], plain: Sequence[float | None]) -> float | None:
    """Seconds in plain passes: the median of those known by the median of plain passes."""
    spent = [seconds for seconds in mine if seconds is not None]
    passes = [seconds for seconds in plain if seconds is not None]
    return median(spent) / median(passes) if spent and passes else None
