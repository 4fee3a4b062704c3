"""Choose how many tokens to draft per round: a fixed γ, or one that adapts to acceptance.

γ depends on past rounds only, never on the tokens being drafted, so the output distribution stays
exact.
"""

from __future__ import annotations

from typing import Protocol

from specviz.settings.settings import Settings, max_gamma


class GammaSchedule(Protocol):
    """Chooses γ for the next round."""

    gamma: int

    def observe(self, drafted: int, accepted: int) -> None:
        """Record a round.

        Args:
            drafted: Depth of the proposal; for a chain, its number of tokens.
            accepted: Number of accepted tokens.
        """
        ...


class Fixed:
    """Use the same γ in every round."""

    def __init__(self, gamma: int) -> None:
        self.gamma = gamma

    def observe(self, drafted: int, accepted: int) -> None:
        """Ignore the round."""


class Learning:
    """Adapt γ as the `heuristic` schedule of transformers does.

    γ grows by 2 after a fully accepted round and shrinks by 1 otherwise, between 1 and `most`.
    """

    def __init__(self, gamma: int, most: int) -> None:
        self.gamma = gamma
        self.most = most

    def observe(self, drafted: int, accepted: int) -> None:
        """Adapt γ, unless the round drafted no tokens."""
        if drafted:
            step = 2 if accepted == drafted else -1
            self.gamma = min(self.most, max(1, self.gamma + step))


def schedule(settings: Settings) -> GammaSchedule:
    """Return the schedule that the settings choose.

    γ never exceeds the largest value that is valid for the siblings in the settings.
    """
    if settings.schedule == "fixed":
        return Fixed(settings.gamma)
    return Learning(settings.gamma, max_gamma(settings.siblings))
