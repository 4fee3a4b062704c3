"""How many tokens to draft: a fixed γ, or one that learns from its hits.

γ depends on past rounds only, never on the tokens now drafted, so a schedule keeps exactness.
"""

from __future__ import annotations

from typing import Protocol

from specviz.settings import MAX_GAMMA, Settings


class GammaSchedule(Protocol):
    """γ for the next round."""

    gamma: int

    def observe(self, drafted: int, kept: int) -> None:
        """A round drafted so many tokens and kept so many."""
        ...


class Fixed:
    """The same γ in every round."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma

    def observe(self, drafted: int, kept: int) -> None:
        """Nothing to learn."""


class Learning:
    """transformers' `heuristic`: +2 after a clean sweep, −1 otherwise, never below 1."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma

    def observe(self, drafted: int, kept: int) -> None:
        """Update the statistics; a round that drafted nothing teaches nothing."""
        if drafted:
            step = 2 if kept == drafted else -1
            self.gamma = min(MAX_GAMMA, max(1, self.gamma + step))


def schedule(settings: Settings) -> GammaSchedule:
    """The schedule that the settings ask for."""
    return Fixed(settings.gamma) if settings.schedule == "fixed" else Learning(settings.gamma)
