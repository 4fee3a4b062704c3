"""A round that was judged from the leaf up, once more: every reach, and whose turn it was.

Its one rule: of what stands in the trace, only scores, draws and coins are believed, and of a
place's laws the sum of what was still owed over the whole vocabulary, which no list of few tokens
gives (`rows` holds it against those that are listed). Reach, chance and order follow from these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from specviz.trace.check.alpha import children
from specviz.trace.check.expectations import MIN_MASS, CheckFailed, expect, expect_close
from specviz.trace.events import Guess, Judged, Round
from specviz.trace.thresholds import leaf_first_threshold, speculative_threshold


def check_leaf_first(played: Round, guesses: Sequence[Guess], rule: str, where: str) -> None:
    """The visit of traversal verification (see `verification.leaf_first`), from what is stored."""
    chain = len({guess.parent for guess in guesses}) == len(guesses)
    expect(chain or rule != "block", where, "block verification judges chains, and this is a tree")
    visit = _Visit(played, guesses, where)
    visit.below(0, 1.0)
    many = len(played.judged)
    expect(visit.at == many, where, "guesses were judged after one was kept, or out of turn")


@dataclass
class _Visit:
    """The walk. at: how many verdicts it has come by; kept: whether one of them kept its guess."""

    played: Round
    guesses: Sequence[Guess]
    where: str
    at: int = 0
    kept: bool = False
    drawn: str = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = self.played.proposed.drawn if self.played.proposed else ""

    def below(self, node: int, reach: float) -> dict[str, float]:
        """Visit the guesses under a node that was come to with `reach`: what its own coin is held
        against, once all of them fell.
        """
        owed = {"reach": reach}
        siblings = children(self.guesses, node)
        left = [self._scored(child) for child in siblings]  # of p at each, as tries take from it
        for place, child in enumerate(siblings):
            q = self._given(siblings, place)
            event = self._try(child, reach, left[place], q[place])
            if self.kept or event is None:
                return owed
            residual = event.rows.residual
            owed = {"reach": reach, "left": residual}
            left = [rest(reach * p, given, residual) for p, given in zip(left, q, strict=True)]
            reach = leaf_first_threshold(owed) if math.isfinite(reach) else math.nan
        return owed

    def _try(self, child: int, reach: float, p: float, q: float) -> Judged | None:
        """A child that is tried with p and q under `reach`: all below it, then its own verdict."""
        own = (
            speculative_threshold({"p": reach * p, "q": q})
            if math.isfinite(reach * p)
            else math.nan
        )
        owed = self.below(child, own)
        if self.kept:
            return None
        event = self._next(child)
        place = f"{self.where}, node {child}"
        agree(event.rows.share, reach, place, "the reach of its place")
        expect(set(owed) == set(event.inputs) & {"reach", "left"}, place, "what it is held against")
        for name, value in owed.items():
            agree(event.inputs[name], value, place, f"its {name!r}")
        self.kept = event.accepted
        return event

    def _next(self, child: int) -> Judged:
        """The verdict whose turn it is."""
        found = self.played.judged[self.at] if self.at < len(self.played.judged) else None
        if found is None or found.node != child:
            said = "nothing" if found is None else f"node {found.node}"
            raise CheckFailed(f"{self.where}: it is node {child}'s turn, and {said} is judged.")
        self.at += 1
        return found

    def _scored(self, child: int) -> float:
        return self.played.scored.p[child - 1] if self.played.scored else math.nan

    def _given(self, siblings: Sequence[int], place: int) -> list[float]:
        """By sibling, its q in the law that the one at `place` was drawn from.

        Without replacement a later one keeps its share of what those before it left.
        """
        found = [0.0] * len(siblings)
        scale = 1.0
        for at in range(place, len(siblings)):
            own = self.guesses[siblings[at] - 1].q
            if own is None:
                tried = self.guesses[siblings[place] - 1].token
                found[at] = float(self.guesses[siblings[at] - 1].token == tried)
                continue
            found[at] = own * scale
            scale *= 1.0 - own if self.drawn == "without-replacement" else 1.0
        return found


def rest(claimed: float, q: float, residual: float) -> float:
    """p at a token after a fall: its part of what is owed; unknown where that is all rounding."""
    return max(claimed - q, 0.0) / residual if residual >= MIN_MASS else math.nan


def agree(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless a number is the one that follows, where that is known."""
    if not math.isnan(follows):
        expect_close(found, follows, where, what)
