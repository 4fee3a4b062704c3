"""Runs a plan's turns, one at a time: a drafter and plain decoding on the same prompt, both timed.

Rule: the measuring is the bench's own (`bench.measure`), so a cell measured here and a recorded one
mean the same.
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
from specviz.compare.domains.plan import Cell, Plan, Turn
from specviz.engine.loop import Decoding, Stop, never
from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import BadSettings

WARM: Final = 4  # new tokens of the run that warms a drafter up


@dataclass(frozen=True, slots=True)
class Began:
    """This turn runs now, as number `place` (from 1)."""

    turn: Turn
    place: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A turn is over: the drafter's call and plain decoding's."""

    turn: Turn
    mine: TimedCall
    plain: TimedCall


Duel = tuple[TimedCall, TimedCall]  # the drafter's call, plain decoding's


@dataclass(slots=True)
class Board:
    """What was measured so far. duels: by drafter and domain, prompt by prompt as they came."""

    duels: dict[tuple[str, str], list[Duel]] = field(default_factory=dict)

    def take(self, event: Began | Measured) -> None:
        """Note what a run of turns said."""
        if isinstance(event, Measured):
            key = (event.turn.drafter, event.turn.domain)
            self.duels.setdefault(key, []).append((event.mine, event.plain))

    @property
    def done(self) -> int:
        """Whole turns so far."""
        return sum(map(len, self.duels.values()))

    @property
    def cells(self) -> list[Cell]:
        """One for every drafter and domain that a turn was measured of."""
        return [cell(*key, duels) for key, duels in self.duels.items()]


def cell(drafter: str, domain: str, duels: Sequence[Duel]) -> Cell:
    """What these duels say together."""
    mine = [one for one, _ in duels]
    outcomes = [timed.outcome for timed in mine]
    ratios = [one.speed / other.speed for one, other in duels]
    told = guess_statistics(outcomes)
    return Cell(
        drafter=drafter,
        domain=domain,
        prompts=len(duels),
        speedup=median(ratios),
        accepted_length=told["accepted_length"],
        tokens_per_pass=tokens_per_pass(outcomes),
        alpha=told["alpha"],
        guesses_per_round=told["guesses_per_round"],
        tokens_per_second=median(timed.speed for timed in mine),
        lowest=min(ratios),
        highest=max(ratios),
        tokens=sum(outcome.tokens for outcome in outcomes),
        seconds=sum(timed.seconds for timed in mine),
        plain_slowest=min(other.speed for _, other in duels),
        plain_fastest=max(other.speed for _, other in duels),
    )


def run(
    target: Target, drafters: Mapping[str, Drafter], plan: Plan, stop: Stop = never
) -> Generator[Began | Measured, None, None]:
    """Every turn of the plan in its order; each drafter warms up before its first.

    drafters: by name. stop: asked before every turn, so that each that is told of is whole. Raises
    BadSettings naming the drafter that cannot run, before anything runs.
    """
    prompts = encode_prompts(target, plan.prompts, plan.new_tokens)
    first = prompts[plan.domains[0]][0]
    for name in plan.drafters:
        _check(target, drafters[name], plan, first)
    cold = {PLAIN, *plan.drafters}
    for place, turn in enumerate(plan.order, start=1):
        if stop():
            return
        yield Began(turn, place)
        prompt = prompts[turn.domain][turn.prompt]
        ways = _ways(target, drafters[turn.drafter], plan)
        for way in _ways(target, drafters[turn.drafter], plan, WARM):
            if way.name in cold:
                way.decode(prompt)
                cold.discard(way.name)
        calls = take_turns(target, ways[:: -1 if plan.drafter_first(place) else 1], [prompt])
        yield Measured(turn, calls[ways[1].name][0], calls[PLAIN][0])


def _check(target: Target, drafter: Drafter, plan: Plan, prompt: Prompt) -> None:
    """Raise BadSettings where this drafter cannot run on this target."""
    try:
        Decoding(target, drafter, prompt.ids, plan.settings(drafter.card.name))
    except ValueError as error:
        raise BadSettings(f"{drafter.card.name}: {error}") from error


def _ways(target: Target, drafter: Drafter, plan: Plan, most: int | None = None) -> list[Method]:
    """Plain decoding and the drafter's, with at most so many new tokens."""
    settings = plan.settings(drafter.card.name)
    settings = replace(settings, max_new_tokens=most or settings.max_new_tokens)
    return [plain_method(target, settings), drafter_method(target, Entrant(drafter, settings))]
