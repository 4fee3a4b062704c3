"""How many tokens to draft: a fixed γ, or one that learns from its hits.

γ depends on past rounds only, never on the tokens now drafted, so a schedule keeps exactness.
"""

from __future__ import annotations

from typing import Protocol

from specviz.settings.settings import Settings, max_gamma


class GammaSchedule(Protocol):
    """γ for the next round."""

    gamma: int

    def observe(self, drafted: int, kept: int) -> None:
        """A round drafted so deep (a chain: so many tokens) and kept so many guesses."""
        ...


class Fixed:
    """The same γ in every round."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma

    def observe(self, drafted: int, kept: int) -> None:
        """Nothing to learn."""


class Learning:
    """transformers' `heuristic`: +2 after a clean sweep, −1 otherwise, from 1 to `most`."""

    def __init__(self, gamma: int, most: int) -> None:
        self.gamma = gamma
        self.most = most

    def observe(self, drafted: int, kept: int) -> None:
        """Update the statistics; a round that drafted nothing teaches nothing."""
        if drafted:
            step = 2 if kept == drafted else -1
            self.gamma = min(self.most, max(1, self.gamma + step))


def schedule(settings: Settings) -> GammaSchedule:
    """The schedule that the settings ask for; it never grows to a γ that they would refuse."""
    if settings.schedule == "fixed":
        return Fixed(settings.gamma)
    return Learning(settings.gamma, max_gamma(settings.siblings))
