"""The last run as a point on the speed law's surface: what it measured, beside what the law says.

Rule: numbers here are a run's own; only `predicted` is simulated. A tree has no single γ: its depth
stands for it, and α is then the chance that one of the siblings is kept. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from specviz.cost import formula
from specviz.trace import metrics
from specviz.trace.events import Guess, Round
from specviz.trace.file import Trace


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """Means over the rounds that drafted; costs in plain target passes.

    alpha: the chance that a judged position's guess is kept. gamma: levels drafted. guesses: nodes
    drafted. c: drafting one level. verify: target pass, judging and commit. tokens: what a round
    brought. speedup: of the whole run, round 0 and rounds without a draft included.
    """

    alpha: float
    gamma: float
    guesses: float
    c: float
    verify: float
    tokens: float
    speedup: float

    @property
    def chain(self) -> bool:
        """True where no guess had a sibling."""
        return self.gamma == self.guesses

    @property
    def predicted(self) -> float:
        """What the law says at these α, γ, c and verify: simulated."""
        return formula.speedup(self.alpha, self.gamma, self.c, self.verify)


def measured_point(trace: Trace) -> MeasuredPoint | None:
    """The point of a run; None where nothing was drafted or plain decoding was not measured."""
    numbers, plain = metrics.summary(trace), trace.baseline
    rounds = [played for played in trace.rounds if _guesses(played) and played.committed]
    if plain is None or len(plain.seconds) < 2 or not rounds:
        return None
    if numbers["alpha"] is None or numbers["speedup"] is None:
        return None
    usual = mean(plain.seconds[1:])  # the first one is the prefill
    drafts = [played.proposed for played in rounds if played.proposed]
    levels = mean(max(draft.depths) for draft in drafts)
    return MeasuredPoint(
        alpha=numbers["alpha"],
        gamma=levels,
        guesses=mean(len(draft.guesses) for draft in drafts),
        c=mean(draft.seconds for draft in drafts) / levels / usual,
        verify=mean(map(_checking, rounds)) / usual,
        tokens=mean(len(played.committed.tokens) for played in rounds if played.committed),
        speedup=numbers["speedup"],
    )


def _guesses(played: Round) -> Sequence[Guess]:
    return played.proposed.guesses if played.proposed else ()


def _checking(played: Round) -> float:
    commit = played.committed.commit_seconds if played.committed else 0.0
    return metrics.verify_seconds(played) + commit
