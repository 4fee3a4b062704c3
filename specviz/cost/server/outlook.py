"""What another γ would bring: the server's own acceptance on a roofline of its machine. Simulated.

Within the positions that were counted, a shorter draft keeps just what was counted; beyond them the
last position's chance is assumed to hold. Where only an average is told, one α is assumed at every
position. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from specviz.cost import formula
from specviz.cost.model_shape import ModelShape
from specviz.cost.roofline import DraftPlan, Prediction, Serving, predict
from specviz.cost.server.acceptance import (
    PositionAcceptance,
    acceptance_by_position,
    tokens_per_pass,
)
from specviz.cost.server.stats import ServerStats, UnreadableStats

MAX_GAMMA: Final = 16  # guesses that are looked at
NEARLY_BEST: Final = 0.99  # of the best speed-up: as good as it


@dataclass(frozen=True, slots=True)
class Chances:
    """By position, the chance that a guess is kept once all before it were.

    given: as counted, or the one α that the average stands for. rest: assumed at all later ones.
    by_position: whether `given` was counted position by position.
    """

    given: tuple[float, ...]
    rest: float
    by_position: bool

    def tokens(self, gamma: int) -> float:
        """Tokens that a draft of γ guesses brings."""
        padded = (*self.given[:gamma], *[self.rest] * (gamma - len(self.given)))
        return formula.tokens_by_depth(padded)


@dataclass(frozen=True, slots=True)
class GammaOption:
    """One γ. speedup: over plain decoding. counted: its tokens were counted, not extrapolated."""

    gamma: int
    tokens: float
    speedup: float
    counted: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """Every γ from 0 to LONGEST on one machine at one batch.

    now: the server's γ, None where it is not known or longer than LONGEST. best: the smallest of
    the best. likely: the best γ with every chance at the lower and at the upper end of its
    interval; None where there are no intervals. round: the pass and the drafting at `now`. fits:
    whether weights and caches fit there with the best.
    """

    origin: ClassVar[str] = "simulated"
    choices: tuple[GammaOption, ...]
    now: GammaOption | None
    best: GammaOption
    likely: tuple[int, int] | None
    round: Prediction | None
    fits: bool

    @property
    def close(self) -> tuple[int, int]:
        """The shortest and the longest γ that are as good as the best, to a hundredth."""
        good = [c.gamma for c in self.choices if c.speedup >= NEARLY_BEST * self.best.speedup]
        return min(good), max(good)

    @property
    def gain(self) -> float | None:
        """What the best γ would bring over the present one."""
        return self.best.speedup / self.now.speedup if self.now else None


def acceptance_chances(told: ServerStats, gamma: int | None) -> Chances:
    """The chances that lie in what a server said. gamma: the drafts' length, where it matters.

    Raises Unreadable where they cannot be had.
    """
    found = [place.given.share for place in acceptance_by_position(told) if place.given]
    if found:
        return Chances(tuple(found), found[-1], True)
    if gamma is None:
        raise UnreadableStats(
            f"{told.program} does not say how long its drafts are: say γ, as it was started with."
        )
    brought = tokens_per_pass(told, gamma).mean
    if brought > gamma + 1:
        raise UnreadableStats(
            f"{gamma} guesses bring {gamma + 1} tokens at most, and {told.program} tells of "
            f"{brought:.2f}: its γ is another."
        )
    alpha = formula.solve_alpha(brought, gamma)
    return Chances((alpha,) * gamma, alpha, False)


def outlook(
    told: ServerStats,
    serving: Serving,
    batch: int,
    draft: ModelShape | None,
    gamma: int | None = None,
) -> Outlook:
    """Speed-up by γ. gamma: the server's, where it does not say it itself. Raises Unreadable."""
    if told.siblings > 1:
        raise UnreadableStats(
            "Its drafts are trees, and what it says does not tell which guesses of a level were "
            "kept: what another shape would bring cannot be worked out from it."
        )
    present = told.length or gamma
    usual = acceptance_chances(told, present)

    def gains(each: Chances) -> list[float]:
        return [_predicted(serving, batch, draft, each, g).speedup for g in range(MAX_GAMMA + 1)]

    made = tuple(
        GammaOption(g, usual.tokens(g), gain, usual.by_position and g <= len(usual.given))
        for g, gain in enumerate(gains(usual))
    )
    best = made[_best([choice.speedup for choice in made])]
    now = made[present] if present is not None and present <= MAX_GAMMA else None
    return Outlook(
        made,
        now,
        best,
        _best_interval(acceptance_by_position(told), gains),
        _predicted(serving, batch, draft, usual, now.gamma) if now else None,
        _predicted(serving, batch, draft, usual, best.gamma).fits,
    )


def _predicted(
    serving: Serving, batch: int, draft: ModelShape | None, each: Chances, gamma: int
) -> Prediction:
    return predict(serving, DraftPlan(each.tokens(gamma), (1,) * gamma, draft), batch)


def _best(gains: Sequence[float]) -> int:
    most = max(gains)
    return next(at for at, gain in enumerate(gains) if gain >= most * (1.0 - formula.TOLERANCE))


def _best_interval(
    found: Sequence[PositionAcceptance], gains: Callable[[Chances], list[float]]
) -> tuple[int, int] | None:
    """The best γ at both ends of all intervals."""
    rates = [place.given for place in found if place.given]
    if not rates:
        return None
    ends = ([rate.low for rate in rates], [rate.high for rate in rates])
    low, high = (_best(gains(Chances(tuple(end), end[-1], True))) for end in ends)
    return min(low, high), max(low, high)
