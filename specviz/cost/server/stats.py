"""What a server has said, in one form for all programs; and how two snapshots differ.

Rule: None and () mean that it was not said. Numbers that contradict each other are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from typing import Final

MAX_POSITIONS: Final = 128  # guesses in a row
MAX_NUMBER: Final = 1e15  # of any number: whole ones are exact below
SLACK: Final = 0.01  # share by which a sum over positions may miss the total, counted a bit later
MAX_NAME: Final = 60  # characters of a model's name that are shown


class UnreadableStats(ValueError):
    """A text that cannot be used; the message is a sentence for people."""


class UnknownFormat(UnreadableStats):
    """A text of none of the programs whose words are read."""


class SeveralModels(UnreadableStats):
    """The text tells of several models; `models` has their names."""

    def __init__(self, models: Sequence[str]) -> None:
        names = ", ".join(shorten(name) for name in models[:8])
        super().__init__(f"This server has several models: {names}. Say which one.")
        self.models = tuple(models)


@dataclass(frozen=True, slots=True)
class ServerStats:
    """What a server said of its speculative decoding.

    program, place: who said it, and where. model: as the server calls it. rounds: drafts that were
    judged. drafted, accepted: guesses in all of them. kept: by position, the drafts whose guess
    there was kept; the first guess first. mean: tokens a pass, the target's own counted, where an
    average is all that is told. gamma: the longest draft. siblings: guesses beside each other, 1
    for a chain. engines: copies of the model. running: sequences that one copy decoded at that
    moment. between: seconds between two outputs of a sequence, summed, and how many. counting:
    whether these are counters since the server's start, which a later snapshot goes on with.
    """

    program: str
    place: str
    model: str = ""
    rounds: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    kept: tuple[float, ...] = ()
    mean: float | None = None
    gamma: int | None = None
    siblings: int = 1
    engines: int = 1
    running: float | None = None
    between: tuple[float, float] | None = None
    counting: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        plain = (self.rounds, self.drafted, self.accepted, self.mean, self.running)
        for value in (*plain, *self.kept, *(self.between or ())):
            if value is not None and not (isfinite(value) and 0 <= value <= MAX_NUMBER):
                raise UnreadableStats(
                    f"A count of {self.program} is {value:g}, which no count can be."
                )
        self._checked_totals()
        self._checked_positions()
        if self.mean is not None and self.mean < 1:
            raise UnreadableStats(
                f"{self.program} says {self.mean:g} tokens a pass, and a pass brings 1 at least."
            )

    def _checked_totals(self) -> None:
        drafted, accepted = self.drafted, self.accepted
        if drafted is not None and accepted is not None and accepted > drafted:
            raise UnreadableStats(
                f"{accepted:,.0f} accepted guesses of {drafted:,.0f} drafted ones cannot be."
            )

    def _checked_positions(self) -> None:
        if len(self.kept) > MAX_POSITIONS:
            raise UnreadableStats(
                f"More than {MAX_POSITIONS} positions are no draft that is read here."
            )
        counts = (*(() if self.rounds is None else (self.rounds,)), *self.kept)
        for place, (before, here) in enumerate(pairwise(counts), 1):
            if here > before:
                raise UnreadableStats(
                    f"At one position {here:,.0f} guesses were kept, but only {before:,.0f} drafts "
                    f"came so far (step {place}): a guess is judged once all before it were kept."
                )
        total = sum(self.kept)
        accepted = total if self.accepted is None or not self.kept else self.accepted
        if abs(total - accepted) > SLACK * max(total, accepted):
            raise UnreadableStats(
                f"The positions sum to {total:,.0f} and {accepted:,.0f} guesses were accepted: a "
                "line is missing, or the text is two snapshots."
            )

    @property
    def batch(self) -> int | None:
        """Sequences in a pass, as whole ones; None where none ran or nothing was said."""
        return max(1, round(self.running)) if self.running else None

    @property
    def length(self) -> int | None:
        """γ, where it was said, or where every draft has the same length on average."""
        if self.gamma is not None:
            return self.gamma
        if self.rounds and self.drafted and self.drafted % self.rounds == 0:
            return int(self.drafted // self.rounds)
        return None


def difference(before: ServerStats, after: ServerStats) -> ServerStats:
    """What happened between two snapshots of one server. Raises Unreadable with a sentence."""
    same = (before.program, before.place, before.model) == (after.program, after.place, after.model)
    if not same:
        raise UnreadableStats(
            f"The two snapshots are of different servers: {before.program} {shorten(before.model)} "
            f"and {after.program} {shorten(after.model)}."
        )
    if not (before.counting and after.counting):
        raise UnreadableStats(
            f"{after.program}’s {after.place} is no list of counters, so two of them have no "
            "difference: leave the earlier one out."
        )
    made = replace(
        after,
        rounds=_subtract(before.rounds, after.rounds),
        drafted=_subtract(before.drafted, after.drafted),
        accepted=_subtract(before.accepted, after.accepted),
        kept=_subtract_each(before.kept, after.kept),
        between=_subtract_pair(before.between, after.between),
    )
    if not (made.rounds or made.drafted):
        raise UnreadableStats("Nothing was drafted between the two snapshots.")
    return made


def _subtract(before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    if after < before:
        raise UnreadableStats(
            "A counter went backwards: the server was started anew between the two snapshots, or "
            "they stand in the wrong order."
        )
    return after - before


def _subtract_each(before: Sequence[float], after: Sequence[float]) -> tuple[float, ...]:
    if before and len(before) > len(after):
        raise UnreadableStats(
            "The later snapshot has fewer positions: the server was started anew."
        )
    padded = (*before, *[0.0] * (len(after) - len(before)))
    return tuple(_subtract(one, two) or 0.0 for one, two in zip(padded, after, strict=True))


def _subtract_pair(
    before: tuple[float, float] | None, after: tuple[float, float] | None
) -> tuple[float, float] | None:
    if before is None or after is None:
        return None
    return (_subtract(before[0], after[0]) or 0.0, _subtract(before[1], after[1]) or 0.0)


def shorten(name: str) -> str:
    """A name of a server's as it is shown: not too long, nothing that steers a terminal."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in name)
    return plain if len(plain) <= MAX_NAME else plain[: MAX_NAME - 1] + "…"
