"""Counts of accepted and rejected guesses, which can be summed over runs, and their rates.

A method returns its rounds, which are counted after the clock has stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import chain, zip_longest
from operator import add
from typing import TYPE_CHECKING, Final, Self

from specviz.engine.loop import alpha
from specviz.trace.metrics import share

if TYPE_CHECKING:
    from specviz.engine.loop import RoundResult


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers that can be added, one by one, to others of the same kind."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class DepthTally(Counts):
    """Counts at one depth of the tree, from 1, per position; siblings share a position."""

    judged: int = 0
    positions: int = 0
    accepted: int = 0


BINS: Final = 10  # how many intervals of predicted probability there are, of equal width


@dataclass(frozen=True, slots=True)
class Bin(Counts):
    """Judged guesses in one interval of predicted probability; predicted: their sum."""

    judged: int = 0
    predicted: float = 0.0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a run's guesses.

    Attributes:
        rounds: Number of rounds, including the prefill, which drafts nothing.
        acceptance_sum: The sum over judged positions of the probability that one of its guesses is
            accepted.
        bins: Judged guesses by the drafter's predicted probability of acceptance; empty without
            predictions.
    """

    rounds: int = 0
    guesses: int = 0
    acceptance_sum: float = 0.0
    depths: tuple[DepthTally, ...] = ()
    bins: tuple[Bin, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        pairs = zip_longest(self.depths, other.depths, fillvalue=DepthTally())
        return Tally(
            self.rounds + other.rounds,
            self.guesses + other.guesses,
            self.acceptance_sum + other.acceptance_sum,
            tuple(mine + theirs for mine, theirs in pairs),
            tuple(a + b for a, b in zip_longest(self.bins, other.bins, fillvalue=Bin())),
        )

    @property
    def alpha(self) -> float | None:
        """α: `acceptance_sum` divided by the judged positions, as in `metrics.summary`."""
        return share(self.acceptance_sum, sum(depth.positions for depth in self.depths))

    @property
    def accepted_length(self) -> float | None:
        """Accepted guesses per round, including the prefill, as in `metrics.summary`."""
        return share(sum(depth.accepted for depth in self.depths), self.rounds)

    @property
    def kept_by_depth(self) -> list[float | None]:
        """For each depth, in which share of the judged positions a guess was accepted.

        It is counted per position and not per guess, as on the Compare tab: at most one guess per
        position is accepted, so counted per guess, each further sibling would lower the number,
        although siblings help. Its expected value is α.
        """
        return [share(depth.accepted, depth.positions) for depth in self.depths]

    @property
    def reliability(self) -> list[list[float]] | None:
        """For each interval: number of judged guesses, mean prediction, share accepted; or None."""
        found = [
            [float(each.judged), each.predicted / each.judged, each.accepted / each.judged]
            for each in self.bins
            if each.judged
        ]
        return found or None


def calibration_error(reliability: Sequence[Sequence[float]]) -> float:
    """Return the expected calibration error: the mean difference of prediction and outcome."""
    judged = sum(count for count, _, _ in reliability)
    return sum(count * abs(mean - kept) for count, mean, kept in reliability) / judged


def pool_reliability(several: Iterable[list[list[float]]]) -> list[list[float]]:
    """Sum counts of guesses by interval; items are [guesses, mean prediction, share accepted]."""
    found: dict[int, list[float]] = {}
    for count, mean, kept in chain.from_iterable(several):
        old = found.setdefault(min(int(mean * BINS), BINS - 1), [0.0, 0.0, 0.0])
        whole = old[0] + count
        pairs = zip(old[1:], (mean, kept), strict=True)
        old[:] = [whole, *((a * old[0] + b * count) / whole for a, b in pairs)]
    return [found[at] for at in sorted(found)]


def sum_tallies(tallies: Iterable[Tally]) -> Tally:
    """Sum the counts of several runs; every judged position has the same weight."""
    return sum(tallies, Tally())


def tally_rounds(rounds: Sequence[RoundResult]) -> Tally:
    """Count the guesses of a run that were judged and accepted."""
    return sum_tallies(_of(played) for played in rounds)


def _of(played: RoundResult) -> Tally:
    tree, verdict = played.proposal.tree, played.verdict
    found: dict[int, DepthTally] = {}
    chances = [alpha(played, decision).value for decision in verdict.decisions]
    accepted = set(verdict.path)
    for decision, chance in zip(verdict.decisions, chances, strict=True):
        tally = DepthTally(1, int(chance is not None), int(decision.node in accepted))
        depth = tree.depths[decision.node]
        found[depth] = found.get(depth, DepthTally()) + tally
    deepest = max(found, default=0)
    bins = [Bin()] * BINS
    for decision in verdict.decisions:
        predicted = played.proposal.evidence.get(decision.node, {}).get("confidence")
        if predicted is not None:
            at = min(int(predicted * BINS), BINS - 1)
            bins[at] += Bin(1, predicted, int(decision.node in accepted))
    return Tally(
        rounds=1,
        guesses=len(tree) - 1,
        acceptance_sum=sum(chance for chance in chances if chance is not None),
        depths=tuple(found.get(depth, DepthTally()) for depth in range(1, deepest + 1)),
        bins=tuple(bins) if any(each.judged for each in bins) else (),
    )
