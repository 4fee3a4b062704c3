"""Drafting while the target checks, simulated from a run's own times.

While the target checks a round, the drafter could already draft the next one, for the likeliest
outcome: every guess is accepted, and the bonus token is the drafter's own top choice. If this comes
true, the draft is ready early. Otherwise it is discarded, as a processor discards work after a
mispredicted branch. The simulation assumes that both can run at once without slowing each other, so
what it saves is an upper bound. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from specviz.trace import metrics
from specviz.trace.events import Proposed, Round
from specviz.trace.file import Trace


@dataclass(frozen=True, slots=True)
class EarlyDraft:
    """What the drafter does during a check.

    Attributes:
        outcome: Whether the prediction came true ("hit"), a guess was rejected, or all guesses were
            accepted with another bonus token.
        seconds: The time during the check in which it drafts.
        saved: The part of the next draft's time that is saved; 0 unless it is a hit.
    """

    outcome: str
    seconds: float
    saved: float


@dataclass(frozen=True, slots=True)
class Overlap:
    """A run with drafting during each check.

    Attributes:
        drafts: The early drafts, by the number of the round that is checked. The prompt's pass and
            the last check have none.
        speedup: Plain decoding's time per token over the run's; None without a baseline.
    """

    drafts: Mapping[int, EarlyDraft]
    speedup: float | None

    @property
    def hits(self) -> int:
        """How many predictions came true."""
        return sum(each.outcome == "hit" for each in self.drafts.values())

    @property
    def saved(self) -> float:
        """The seconds saved in the whole run."""
        return sum(each.saved for each in self.drafts.values())


def all_accepted(played: Round) -> bool:
    """Return whether a round has guesses and each was accepted."""
    proposed = played.proposed
    return bool(proposed and len(metrics.accepted_path(played)) == len(proposed.guesses) > 0)


def overlap(trace: Trace, tops: Mapping[int, int]) -> Overlap:
    """Simulate drafting during each check of chains; tops: the drafter's next token, by round."""
    drafts = {
        played.number: _early_draft(played, after.proposed, tops)
        for played, after in pairwise(trace.rounds)
        if played.proposed and played.proposed.guesses and after.proposed and after.proposed.guesses
    }
    numbers = metrics.summary(trace)
    seconds = numbers["total_seconds"] - sum(each.saved for each in drafts.values())
    return Overlap(drafts, metrics.speedup(numbers["tokens"], seconds, trace.baseline))


def _early_draft(played: Round, after: Proposed, tops: Mapping[int, int]) -> EarlyDraft:
    # The drafter first guesses the bonus token, which takes one step more.
    step = after.seconds / len(after.guesses)
    drafted = min(metrics.verify_seconds(played), step + after.seconds)
    if not all_accepted(played):
        return EarlyDraft("rejected", drafted, 0.0)
    if played.drew is None or tops[played.number] != played.drew.token:
        return EarlyDraft("other bonus", drafted, 0.0)
    return EarlyDraft("hit", drafted, max(0.0, drafted - step))
