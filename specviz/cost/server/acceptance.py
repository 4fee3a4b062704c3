"""Acceptance as a server counted it, by position and as tokens per pass, with confidence intervals.

The intervals assume independent rounds. Rounds of one text are similar, so the true intervals are
wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from specviz.cost.server.stats import ServerStats, UnreadableStats

Z_95: Final = 1.959964  # standard errors on either side of a 95 % interval


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval: `kept` of `many`."""

    kept: float
    many: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share that was counted."""
        return self.kept / self.many


@dataclass(frozen=True, slots=True)
class PositionAcceptance:
    """Acceptance at one position of the drafts.

    Attributes:
        number: The position, from 1.
        reached: Share of all drafts that were accepted up to this position.
        given: Share of the drafts with all earlier positions accepted; None if there was none.
    """

    number: int
    reached: Rate
    given: Rate | None


@dataclass(frozen=True, slots=True)
class TokensPerPass:
    """Tokens per pass, the target's own included.

    Attributes:
        mean: The mean.
        low: Lower end of its 95 % interval; None if only an average is reported.
        high: Upper end.
        assumed: Whether every draft was assumed to have γ tokens, since drafts are not counted.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    assumed: bool = False


def wilson_interval(accepted: float, total: float) -> Rate:
    """Return Wilson's score interval, which stays within 0 and 1 and holds for small counts.

    Wilson, Journal of the American Statistical Association 22 (1927).
    """
    if not 0 <= accepted <= total or not total:
        raise ValueError(f"{accepted:g} of {total:g} is not a share.")
    share, square = accepted / total, Z_95 * Z_95 / total
    middle = (share + square / 2) / (1 + square)
    half = Z_95 * sqrt(share * (1 - share) / total + square / (4 * total)) / (1 + square)
    return Rate(accepted, total, max(0.0, middle - half), min(1.0, middle + half))


def acceptance_by_position(stats: ServerStats) -> list[PositionAcceptance]:
    """List acceptance by position; empty if the server does not report it."""
    if not stats.rounds:
        return []
    before = stats.rounds
    found = []
    for number, accepted in enumerate(stats.kept, 1):
        given = wilson_interval(accepted, before) if before else None
        found.append(PositionAcceptance(number, wilson_interval(accepted, stats.rounds), given))
        before = accepted
    return found


def tokens_per_pass(stats: ServerStats, gamma: int | None = None) -> TokensPerPass:
    """Return tokens per pass.

    Args:
        stats: The server's statistics.
        gamma: The draft length, if the server does not count drafts.

    Raises:
        UnreadableStats: If the mean cannot be computed, or nothing was drafted yet.
    """
    if stats.mean is not None:
        return TokensPerPass(stats.mean)
    if stats.rounds == 0 or stats.drafted == 0:
        raise UnreadableStats(
            "This server has drafted nothing yet. Try again once it has decoded some text."
        )
    if stats.rounds is not None:
        return _counted(stats, stats.rounds)
    if gamma is None or stats.drafted is None or stats.accepted is None:
        raise UnreadableStats(
            f"{stats.program} does not report the number of drafts: enter γ, the draft length."
        )
    return TokensPerPass(1 + stats.accepted * gamma / stats.drafted, assumed=True)


def _counted(stats: ServerStats, rounds: float) -> TokensPerPass:
    """Compute the mean tokens per pass from counts.

    Add its 95% interval if counts by position are given.
    """
    accepted = stats.accepted if stats.accepted is not None else sum(stats.kept)
    mean = accepted / rounds
    if not stats.kept:
        return TokensPerPass(1 + mean)
    # E[A²] = Σ (2i − 1) P(A ≥ i)
    square = sum((2 * i - 1) * kept for i, kept in enumerate(stats.kept, 1)) / rounds
    half = Z_95 * sqrt(max(0.0, square - mean * mean) / rounds)
    return TokensPerPass(1 + mean, max(1.0, 1 + mean - half), 1 + mean + half)
