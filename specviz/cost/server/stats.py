"""Statistics of a server in the same form for all programs, and what follows from them.

A value that the server does not report is None or (). Contradictory numbers are refused. From the
statistics, the difference of two snapshots and the acceptance are computed: by position, and as
tokens per pass. Confidence intervals assume independent rounds; rounds of one text are similar, so
the true intervals are wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, sqrt
from typing import Final

MAX_POSITIONS: Final = 128  # maximum tokens in a draft
MAX_NUMBER: Final = 1e15  # maximum of any number: integers below it are exact in a float
SLACK: Final = 0.01  # tolerance of the sum over positions, which the server reads a moment later
MAX_NAME: Final = 60  # maximum characters of a model's name


class UnreadableStats(ValueError):
    """Raised if statistics cannot be used; the message is a sentence."""


class UnknownFormat(UnreadableStats):
    """Raised if a text is not in the format of a supported program."""


class SeveralModels(UnreadableStats):
    """Raised if the text has several models; their names are in `models`."""

    def __init__(self, models: Sequence[str]) -> None:
        names = ", ".join(shorten(name) for name in models[:8])
        super().__init__(f"This server has several models: {names}. Choose one.")
        self.models = tuple(models)


@dataclass(frozen=True, slots=True)
class ServerStats:
    """Statistics of a server on its speculative decoding.

    Attributes:
        endpoint: The endpoint or answer that the numbers come from.
        accepted_by_position: For each position, the number of drafts whose token was
            accepted.
        mean: Mean tokens per pass including the target's own, if only this average is
            reported.
        siblings: Number of alternatives at one position; 1 for a chain, None if unknown.
        engines: Number of copies of the model.
        running: Number of sequences that one copy was decoding at that moment.
        output_gaps: Sum of the seconds between two outputs of a sequence, and the number of
            gaps.
        steps: Accepted and drafted tokens of each draft in order, if they are reported one
            by one.
        is_counter: Whether these are counters since the start of the server, so that two
            snapshots can be subtracted.
        notes: Limitations that apply to this program, a sentence each.
    """

    program: str
    endpoint: str
    model: str = ""
    rounds: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    accepted_by_position: tuple[float, ...] = ()
    mean: float | None = None
    gamma: int | None = None
    siblings: int | None = 1
    engines: int = 1
    running: float | None = None
    output_gaps: tuple[float, float] | None = None
    steps: tuple[tuple[int, int], ...] = ()
    is_counter: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        plain = (self.rounds, self.drafted, self.accepted, self.mean, self.running)
        for value in (*plain, *self.accepted_by_position, *(self.output_gaps or ())):
            if value is not None and not (isfinite(value) and 0 <= value <= MAX_NUMBER):
                raise UnreadableStats(
                    f"{self.program} reports a count of {value:g}, which is impossible."
                )
        self._checked_totals()
        self._checked_positions()
        if self.mean is not None and self.mean < 1:
            raise UnreadableStats(
                f"{self.program} reports {self.mean:g} tokens per pass; a pass yields at least 1."
            )

    def _checked_totals(self) -> None:
        drafted, accepted = self.drafted, self.accepted
        if drafted is not None and accepted is not None and accepted > drafted:
            raise UnreadableStats(
                f"{accepted:,.0f} accepted of {drafted:,.0f} drafted tokens is impossible."
            )

    def _checked_positions(self) -> None:
        if len(self.accepted_by_position) > MAX_POSITIONS:
            raise UnreadableStats(
                f"Drafts with more than {MAX_POSITIONS} positions are not supported."
            )
        counts = (*(() if self.rounds is None else (self.rounds,)), *self.accepted_by_position)
        for place, (before, here) in enumerate(pairwise(counts), 1):
            if here > before:
                raise UnreadableStats(
                    f"{here:,.0f} drafts were accepted at position {place}, but only {before:,.0f} "
                    "reached it: a draft token is judged only if all before it were accepted."
                )
        total = sum(self.accepted_by_position)
        accepted = (
            total if self.accepted is None or not self.accepted_by_position else self.accepted
        )
        if abs(total - accepted) > SLACK * max(total, accepted):
            raise UnreadableStats(
                f"The positions sum to {total:,.0f}, but {accepted:,.0f} tokens were accepted: a "
                "line is missing, or the text holds two snapshots."
            )

    @property
    def batch(self) -> int | None:
        """Sequences per pass, rounded; None if none was running or the number is not reported."""
        return max(1, round(self.running)) if self.running else None

    @property
    def draft_length(self) -> int | None:
        """γ as reported, or else the mean length of chains if it is a whole number."""
        if self.gamma is not None or self.siblings is None:
            return self.gamma
        if self.rounds and self.drafted and self.drafted % self.rounds == 0:
            return int(self.drafted // self.rounds)
        return None


def difference(before: ServerStats, after: ServerStats) -> ServerStats:
    """Return the statistics between two snapshots.

    Raises UnreadableStats if they cannot be subtracted.
    """
    same = (before.program, before.endpoint, before.model) == (
        after.program,
        after.endpoint,
        after.model,
    )
    if not same:
        raise UnreadableStats(
            f"The two snapshots are from different servers: {before.program} "
            f"{shorten(before.model)} and {after.program} {shorten(after.model)}."
        )
    if not (before.is_counter and after.is_counter):
        raise UnreadableStats(
            f"{after.program} does not report counters in {after.endpoint}, so two snapshots "
            "cannot be subtracted: leave the earlier one out."
        )
    difference = replace(
        after,
        rounds=_subtract(before.rounds, after.rounds),
        drafted=_subtract(before.drafted, after.drafted),
        accepted=_subtract(before.accepted, after.accepted),
        accepted_by_position=_subtract_each(
            before.accepted_by_position, after.accepted_by_position
        ),
        output_gaps=_subtract_pair(before.output_gaps, after.output_gaps),
    )
    if not (difference.rounds or difference.drafted):
        raise UnreadableStats("Nothing was drafted between the two snapshots.")
    return difference


def _subtract(before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    if after < before:
        raise UnreadableStats(
            "A counter decreased: the server was restarted between the two snapshots, or their "
            "order is wrong."
        )
    return after - before


def _subtract_each(before: Sequence[float], after: Sequence[float]) -> tuple[float, ...]:
    if before and len(before) > len(after):
        raise UnreadableStats("The later snapshot has fewer positions: the server was restarted.")
    padded = (*before, *[0.0] * (len(after) - len(before)))
    return tuple(_subtract(one, two) or 0.0 for one, two in zip(padded, after, strict=True))


def _subtract_pair(
    before: tuple[float, float] | None, after: tuple[float, float] | None
) -> tuple[float, float] | None:
    if before is None or after is None:
        return None
    return (_subtract(before[0], after[0]) or 0.0, _subtract(before[1], after[1]) or 0.0)


def shorten(name: str) -> str:
    """Shorten a server's name for display, and replace unprintable characters."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in name)
    return plain if len(plain) <= MAX_NAME else plain[: MAX_NAME - 1] + "…"


Z_95: Final = 1.959964  # standard errors on each side of a 95% interval


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95% interval."""

    accepted: float
    total: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """The counted share."""
        return self.accepted / self.total


@dataclass(frozen=True, slots=True)
class PositionAcceptance:
    """Acceptance at one position of the drafts.

    Attributes:
        number: The position, from 1.
        cumulative: Share of all drafts in which all tokens up to this position were accepted.
        conditional: The same as a share of the drafts whose earlier tokens were all accepted; None
            if there was no such draft.
    """

    number: int
    cumulative: Rate
    conditional: Rate | None


@dataclass(frozen=True, slots=True)
class TokensPerPass:
    """Tokens per pass, the target's own included.

    Attributes:
        low: Lower end of its 95% interval; None if only an average is reported.
        high: Upper end.
        assumed: Whether drafts were not counted, and each was assumed to have γ tokens.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    assumed: bool = False


def wilson_interval(accepted: float, total: float) -> Rate:
    """Return Wilson's score interval (JASA 22, 1927), within 0 and 1, valid for small counts."""
    if not 0 <= accepted <= total or not total:
        raise ValueError(f"{accepted:g} of {total:g} is not a share.")
    share, square = accepted / total, Z_95 * Z_95 / total
    middle = (share + square / 2) / (1 + square)
    half = Z_95 * sqrt(share * (1 - share) / total + square / (4 * total)) / (1 + square)
    return Rate(accepted, total, max(0.0, middle - half), min(1.0, middle + half))


def acceptance_by_position(stats: ServerStats) -> list[PositionAcceptance]:
    """Return acceptance by position; empty if the server does not report it."""
    if not stats.rounds:
        return []
    before = stats.rounds
    found = []
    for number, accepted in enumerate(stats.accepted_by_position, 1):
        given = wilson_interval(accepted, before) if before else None
        found.append(PositionAcceptance(number, wilson_interval(accepted, stats.rounds), given))
        before = accepted
    return found


def accepted_by_length(stats: ServerStats) -> dict[int, list[int]]:
    """Return each step's accepted tokens by draft length; empty if steps are not reported."""
    found: dict[int, list[int]] = {}
    for accepted, drafted in sorted(stats.steps, key=lambda step: step[1]):
        found.setdefault(drafted, []).append(accepted)
    return found


def tokens_per_pass(stats: ServerStats, gamma: int | None = None) -> TokensPerPass:
    """Return tokens per pass.

    gamma: the draft length, if the server does not count drafts. Raises UnreadableStats if the mean
    cannot be computed, or nothing was drafted yet.
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
    accepted = stats.accepted if stats.accepted is not None else sum(stats.accepted_by_position)
    mean = accepted / rounds
    if not stats.accepted_by_position:
        return TokensPerPass(1 + mean)
    # E[A²] = Σ (2i − 1) P(A ≥ i)
    square = (
        sum((2 * i - 1) * kept for i, kept in enumerate(stats.accepted_by_position, 1)) / rounds
    )
    half = Z_95 * sqrt(max(0.0, square - mean * mean) / rounds)
    return TokensPerPass(1 + mean, max(1.0, 1 + mean - half), 1 + mean + half)
