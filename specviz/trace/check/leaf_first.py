"""Recompute a round judged from the leaf up: every reach, and the order of the verdicts.

Only scores, draws and random numbers are taken from the trace, and at each position the sum of the
residual over the whole vocabulary, which a list of few tokens cannot give (`rows` compares it with
the listed ones). Reach, threshold and order follow from these.
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
    """Repeat the traversal of `verification.leaf_first` from what the trace stores."""
    chain = len({guess.parent for guess in guesses}) == len(guesses)
    expect(chain or rule != "block", where, "block verification judges chains, but this is a tree")
    visit = _Visit(played, guesses, where)
    visit.below(0, 1.0)
    complete = visit.at == len(played.judged)
    expect(complete, where, "guesses were judged after one was accepted, or in the wrong order")


@dataclass
class _Visit:
    """One traversal of the tree.

    Attributes:
        at: The index of the next verdict.
        accepted: Whether an earlier verdict accepted its guess.
    """

    played: Round
    guesses: Sequence[Guess]
    where: str
    at: int = 0
    accepted: bool = False
    drawn: str = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = self.played.proposed.drawn if self.played.proposed else ""

    def below(self, node: int, reach: float) -> dict[str, float]:
        """Visit the guesses after a node that is reached with `reach`.

        Returns:
            The inputs of the node's own threshold, after all of them were rejected.
        """
        inputs = {"reach": reach}
        siblings = children(self.guesses, node)
        left = [self._scored(child) for child in siblings]  # p of each, reduced by rejections
        for index, child in enumerate(siblings):
            q = self._given(siblings, index)
            event = self._try(child, reach, left[index], q[index])
            if self.accepted or event is None:
                return inputs
            residual = event.rows.residual
            inputs = {"reach": reach, "left": residual}
            left = [rest(reach * p, given, residual) for p, given in zip(left, q, strict=True)]
            reach = leaf_first_threshold(inputs) if math.isfinite(reach) else math.nan
        return inputs

    def _try(self, child: int, reach: float, p: float, q: float) -> Judged | None:
        """Visit everything below a child, then judge the child with p and q under `reach`."""
        own = (
            speculative_threshold({"p": reach * p, "q": q})
            if math.isfinite(reach * p)
            else math.nan
        )
        inputs = self.below(child, own)
        if self.accepted:
            return None
        event = self._next(child)
        here = f"{self.where}, node {child}"
        agree(event.rows.share, reach, here, "the reach of its position")
        names = set(event.inputs) & {"reach", "left"}
        expect(set(inputs) == names, here, f"its inputs should be {sorted(inputs)}")
        for name, value in inputs.items():
            agree(event.inputs[name], value, here, f"its {name!r}")
        self.accepted = event.accepted
        return event

    def _next(self, child: int) -> Judged:
        """Return the next verdict, which must be on `child`."""
        found = self.played.judged[self.at] if self.at < len(self.played.judged) else None
        if found is None or found.node != child:
            other = "nothing" if found is None else f"node {found.node}"
            raise CheckFailed(f"{self.where}: node {child} is next, but {other} is judged.")
        self.at += 1
        return found

    def _scored(self, child: int) -> float:
        return self.played.scored.p[child - 1] if self.played.scored else math.nan

    def _given(self, siblings: Sequence[int], first: int) -> list[float]:
        """Return q of each sibling in the distribution that the one at `first` was sampled from.

        Without replacement a later sibling has its share of what the earlier ones left.
        """
        found = [0.0] * len(siblings)
        scale = 1.0
        for at in range(first, len(siblings)):
            own = self.guesses[siblings[at] - 1].q
            if own is None:
                tried = self.guesses[siblings[first] - 1].token
                found[at] = float(self.guesses[siblings[at] - 1].token == tried)
                continue
            found[at] = own * scale
            scale *= 1.0 - own if self.drawn == "without-replacement" else 1.0
        return found


def rest(claimed: float, q: float, residual: float) -> float:
    """Return p at a token after a rejection: its part of the residual, NaN if that is rounding."""
    return max(claimed - q, 0.0) / residual if residual >= MIN_MASS else math.nan


def agree(found: float, expected: float, where: str, what: str) -> None:
    """Raise CheckFailed unless a number is the expected one, if that is known (not NaN)."""
    if not math.isnan(expected):
        expect_close(found, expected, where, what)
