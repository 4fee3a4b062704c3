"""Acceptance as a server counted it: by position, tokens a pass, each with how sure it is.

Intervals take rounds as independent. Rounds of one text are alike, so the true ones are wider.
Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from specviz.cost.server.stats import ServerStats, UnreadableStats

Z_95: Final = 1.959964  # standard errors either side: 95 of 100


@dataclass(frozen=True, slots=True)
class Rate:
    """kept of many, as a share, and the interval in which the chance lies."""

    kept: float
    many: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """What was counted."""
        return self.kept / self.many


@dataclass(frozen=True, slots=True)
class PositionAcceptance:
    """One position of a draft. reached: kept there, of all drafts: P(at least so many are kept).

    given: of the drafts where all before it were kept; None where there was none.
    """

    number: int
    reached: Rate
    given: Rate | None


@dataclass(frozen=True, slots=True)
class TokensPerPass:
    """Tokens a pass, the target's own counted; the interval is None where only averages are told.

    assumed: γ guesses in every draft were taken for granted, since drafts were not counted.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    assumed: bool = False


def wilson_interval(kept: float, many: float) -> Rate:
    """Wilson's interval for a chance, which stays within 0 and 1 and holds for few counts.

    Wilson, Journal of the American Statistical Association 22 (1927).
    """
    if not 0 <= kept <= many or not many:
        raise ValueError(f"{kept:g} of {many:g} is no share.")
    share, square = kept / many, Z_95 * Z_95 / many
    middle = (share + square / 2) / (1 + square)
    half = Z_95 * sqrt(share * (1 - share) / many + square / (4 * many)) / (1 + square)
    return Rate(kept, many, max(0.0, middle - half), min(1.0, middle + half))


def acceptance_by_position(told: ServerStats) -> list[PositionAcceptance]:
    """By position; empty where the server does not say it."""
    if not told.rounds:
        return []
    before = told.rounds
    found = []
    for number, kept in enumerate(told.kept, 1):
        given = wilson_interval(kept, before) if before else None
        found.append(PositionAcceptance(number, wilson_interval(kept, told.rounds), given))
        before = kept
    return found


def tokens_per_pass(told: ServerStats, gamma: int | None = None) -> TokensPerPass:
    """Tokens a pass. gamma: the drafts' length, where the server does not say how many there were.

    Raises Unreadable where it cannot be known, or where nothing was drafted yet.
    """
    if told.mean is not None:
        return TokensPerPass(told.mean)
    if told.rounds == 0 or told.drafted == 0:
        raise UnreadableStats(
            "This server has drafted nothing yet: ask it again once it has worked."
        )
    if told.rounds is not None:
        return _counted(told, told.rounds)
    if gamma is None or told.drafted is None or told.accepted is None:
        raise UnreadableStats(
            f"{told.program} does not say how many drafts there were: say γ, the guesses in one."
        )
    return TokensPerPass(1 + told.accepted * gamma / told.drafted, assumed=True)


def _counted(told: ServerStats, rounds: float) -> TokensPerPass:
    """From counts. With positions, how the accepted lengths scatter is known too."""
    accepted = told.accepted if told.accepted is not None else sum(told.kept)
    mean = accepted / rounds
    if not told.kept:
        return TokensPerPass(1 + mean)
    # E[A²] = Σ (2i − 1) P(A ≥ i)
    square = sum((2 * i - 1) * kept for i, kept in enumerate(told.kept, 1)) / rounds
    half = Z_95 * sqrt(max(0.0, square - mean * mean) / rounds)
    return TokensPerPass(1 + mean, max(1.0, 1 + mean - half), 1 + mean + half)
