"""The last run as a point on the formula's surface: what it measured, beside the prediction.

Only `predicted` is simulated. For a tree, γ is its depth, and α is the probability that one of the
siblings is accepted.
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
    """Means over the rounds that drafted; costs are in plain target passes.

    Attributes:
        alpha: Acceptance probability at a judged position.
        gamma: Levels drafted.
        guesses: Nodes drafted.
        c: Time to draft one level.
        verify: Time of the target pass, judging and commit.
        tokens: Tokens per round.
        speedup: Of the whole run, including round 0 and rounds without a draft.
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
        """Whether no draft token had a sibling."""
        return self.gamma == self.guesses

    @property
    def predicted(self) -> float:
        """The formula's speed-up at this α, γ, c and v: simulated."""
        return formula.speedup(self.alpha, self.gamma, self.c, self.verify)


def measured_point(trace: Trace) -> MeasuredPoint | None:
    """Return the point of a run; None if nothing was drafted or there is no baseline."""
    numbers, plain = metrics.summary(trace), trace.baseline
    rounds = [played for played in trace.rounds if _guesses(played) and played.committed]
    if plain is None or len(plain.seconds) < 2 or not rounds:
        return None
    if numbers["alpha"] is None or numbers["speedup"] is None:
        return None
    baseline = mean(plain.seconds[1:])  # the first one is the prefill
    drafts = [played.proposed for played in rounds if played.proposed]
    levels = mean(max(draft.depths) for draft in drafts)
    return MeasuredPoint(
        alpha=numbers["alpha"],
        gamma=levels,
        guesses=mean(len(draft.guesses) for draft in drafts),
        c=mean(draft.seconds for draft in drafts) / levels / baseline,
        verify=mean(map(_checking, rounds)) / baseline,
        tokens=mean(len(played.committed.tokens) for played in rounds if played.committed),
        speedup=numbers["speedup"],
    )


def _guesses(played: Round) -> Sequence[Guess]:
    return played.proposed.guesses if played.proposed else ()


def _checking(played: Round) -> float:
    commit = played.committed.commit_seconds if played.committed else 0.0
    return metrics.verify_seconds(played) + commit
