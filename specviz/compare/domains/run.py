"""Run the turns of a plan one at a time: a drafter and plain decoding on one prompt, both timed.

`bench.measure` takes the times, as in the recorded measurement, so cells are comparable.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from specviz.bench.measure import TimedCall, guess_statistics, take_turns, tokens_per_pass
from specviz.bench.methods import (
    PLAIN,
    Entrant,
    Method,
    Prompt,
    drafter_method,
    encode_prompts,
    plain_method,
)
from specviz.compare.domains import Cell, Plan, Turn
from specviz.engine.loop import Decoding, Stop, never
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import BadSettings

WARM_UP_TOKENS: Final = 4  # number of new tokens of a warm-up run


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn starts; `number` is counted from 1."""

    turn: Turn
    number: int


@dataclass(frozen=True, slots=True)
class TurnMeasured:
    """A turn has ended, with the timed runs of the drafter and of plain decoding."""

    turn: Turn
    drafter: TimedCall
    plain: TimedCall


RunPair = tuple[TimedCall, TimedCall]  # the drafter's run, and plain decoding's


@dataclass(slots=True)
class Measurements:
    """The measurements so far."""

    pairs: dict[tuple[str, str], list[RunPair]] = field(default_factory=dict)

    def add(self, event: TurnStarted | TurnMeasured) -> None:
        """Add an event of `run`."""
        if isinstance(event, TurnMeasured):
            key = (event.turn.drafter, event.turn.domain)
            self.pairs.setdefault(key, []).append((event.drafter, event.plain))

    @property
    def done(self) -> int:
        """Number of complete turns."""
        return sum(map(len, self.pairs.values()))

    @property
    def cells(self) -> list[Cell]:
        """One cell for every drafter and domain measured."""
        return [cell(*key, pairs) for key, pairs in self.pairs.items()]


def cell(drafter: str, domain: str, pairs: Sequence[RunPair]) -> Cell:
    """Summarize the runs of one drafter in one domain."""
    calls = [call for call, _ in pairs]
    outcomes = [call.outcome for call in calls]
    ratios = [call.speed / plain.speed for call, plain in pairs]
    statistics = guess_statistics(outcomes)
    return Cell(
        drafter=drafter,
        domain=domain,
        prompts=len(pairs),
        speedup=median(ratios),
        accepted_length=statistics["accepted_length"],
        tokens_per_pass=tokens_per_pass(outcomes),
        alpha=statistics["alpha"],
        guesses_per_round=statistics["guesses_per_round"],
        tokens_per_second=median(call.speed for call in calls),
        lowest=min(ratios),
        highest=max(ratios),
        tokens=sum(outcome.tokens for outcome in outcomes),
        seconds=sum(call.seconds for call in calls),
        plain_slowest=min(plain.speed for _, plain in pairs),
        plain_fastest=max(plain.speed for _, plain in pairs),
    )


def run(
    target: Target, drafters: Mapping[str, Drafter], plan: Plan, stop: Stop = never
) -> Generator[TurnStarted | TurnMeasured, None, None]:
    """Run every turn of the plan in order; each drafter warms up before its first turn.

    Raises BadSettings before anything runs, naming the drafter that cannot run.

    Args:
        target: The target.
        drafters: The drafters, by name.
        plan: What to measure.
        stop: Called before every turn, so reported turns are always complete.
    """
    prompts = encode_prompts(target, plan.prompts, plan.new_tokens)
    first = prompts[plan.domains[0]][0]
    for name in plan.drafters:
        _check(target, drafters[name], plan, first)
    cold = {PLAIN, *plan.drafters}
    for number, turn in enumerate(plan.order, start=1):
        if stop():
            return
        yield TurnStarted(turn, number)
        prompt = prompts[turn.domain][turn.prompt]
        methods = _methods(target, drafters[turn.drafter], plan)
        for method in _methods(target, drafters[turn.drafter], plan, WARM_UP_TOKENS):
            if method.name in cold:
                method.decode(prompt)
                cold.discard(method.name)
        order = methods[:: -1 if plan.drafter_first(number) else 1]
        calls = take_turns(target, order, [prompt])
        yield TurnMeasured(turn, calls[methods[1].name][0], calls[PLAIN][0])


def _check(target: Target, drafter: Drafter, plan: Plan, prompt: Prompt) -> None:
    try:
        Decoding(target, drafter, prompt.ids, plan.settings(drafter.card.name))
    except ValueError as error:
        raise BadSettings(f"{drafter.card.name}: {error}") from error


def _methods(
    target: Target, drafter: Drafter, plan: Plan, limit: int | None = None
) -> list[Method]:
    settings = plan.settings(drafter.card.name)
    settings = replace(settings, max_new_tokens=limit or settings.max_new_tokens)
    return [plain_method(target, settings), drafter_method(target, Entrant(drafter, settings))]
