"""Where drafting pays: the best draft on given terms, and the lines of equal speed-up.

The speed law of law.py with two things that a page needs beside it. A γ of 0 is plain decoding,
whose pass costs 1 whatever checking guesses would cost; and a checking pass that costs `verify`
only scales the law: dividing both costs by it gives the law of the paper. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specviz.cost import law
from specviz.cost.checks import chance, not_negative, positive

HALVINGS: Final = 20  # of the unit interval: a millionth, finer than any picture
LONGEST: Final = 64  # the γ up to which `cost_at` looks


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms one drafts, in plain target passes.

    alpha: the chance that a guess is kept. c: drafting one token. verify: the pass that checks the
    guesses. c_hat: the drafter's operations per token / the target's. Raises ValueError with a
    sentence.
    """

    alpha: float
    c: float
    verify: float = 1.0
    c_hat: float = 0.0

    def __post_init__(self) -> None:
        chance("α", self.alpha)
        not_negative("c", self.c)
        positive("The checking pass", self.verify)
        not_negative("ĉ", self.c_hat)

    def speedup(self, gamma: float) -> float:
        """The law's speed-up at γ; 1 where nothing is drafted."""
        return law.speedup(self.alpha, gamma, self.c, self.verify) if gamma else 1.0

    def arithmetic(self, gamma: float) -> float:
        """Operations per token over plain decoding's."""
        return law.operations(self.alpha, gamma, self.c_hat)

    def best(self) -> law.Optimum:
        """The γ of the largest speed-up; 0 where no draft is faster than plain decoding."""
        found = law.optimal_gamma(self.alpha, self.c / self.verify)
        if found.gamma is None:
            gamma, top = None, found.speedup / self.verify
        else:
            gamma = max(1, found.gamma)
            top = self.speedup(gamma)
        return law.Optimum(gamma, top) if top > 1.0 + law.SAME else law.Optimum(0, 1.0)


def alpha_at(level: float, gamma: float, c: float, verify: float = 1.0) -> float | None:
    """The smallest α whose speed-up at γ is `level`; None where even α = 1 is slower."""

    def reaches(alpha: float) -> bool:
        return law.speedup(alpha, gamma, c, verify) >= level

    return _turning(reaches) if reaches(1.0) else None


def gamma_edge(level: float, c: float, verify: float, low: float, high: float) -> float:
    """Between two draft lengths, of which α = 1 reaches `level` at one alone, where that turns."""

    def reaches(part: float) -> bool:
        return law.speedup(1.0, low + part * (high - low), c, verify) >= level

    wanted = reaches(1.0)
    return low + _turning(lambda part: reaches(part) == wanted) * (high - low)


def cost_at(level: float, alpha: float, verify: float = 1.0) -> float | None:
    """The largest c at which some γ up to LONGEST reaches `level`; None where none does for free.

    S = E / (γc + verify) = level, solved for c at each γ.
    """
    most = max(
        (law.expected_tokens(alpha, gamma) / level - verify) / gamma
        for gamma in range(1, LONGEST + 1)
    )
    return most if most >= 0.0 else None


def _turning(reached: Callable[[float], bool]) -> float:
    """Where in [0, 1] a test that never fails again begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
