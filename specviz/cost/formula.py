"""Leviathan's speed law for chains: what a round brings, what it costs, how long a draft pays best.

One unit of time is a plain target pass. α: the chance that a guess is kept, the same everywhere and
independent (a model, not a measurement). γ: guesses in a chain; it may be a run's mean, so it need
not be whole. c: seconds of drafting one token / seconds of a plain target pass. Paper: Leviathan et
al., 2211.17192, section 3. Standard library only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import expm1, inf, log
from typing import ClassVar, Final

from specviz.cost.checks import check_not_negative, check_positive, check_probability

BISECTIONS: Final = 50  # of the unit interval: as fine as a float near 1
TOLERANCE: Final = (
    1e-12  # speed-ups nearer to each other than this share are equal: rounding, no gain
)


def expected_tokens(alpha: float, gamma: float) -> float:
    """Tokens that a round brings on average: 1 + α + … + α^γ = (1 − α^(γ+1)) / (1 − α).

    The target's own token is counted: the accepted length is one less. Paper: eq. 1.
    """
    check_probability("α", alpha)
    check_not_negative("γ", gamma)
    if alpha == 1.0:
        return gamma + 1.0
    if alpha == 0.0:
        return 1.0
    return -expm1((gamma + 1.0) * log(alpha)) / (1.0 - alpha)  # exact near 1 too


def solve_alpha(tokens: float, gamma: float) -> float:
    """The α with which a round of γ guesses brings so many tokens: `expected_tokens` turned round.

    tokens: the target's own is counted, so from 1 to γ + 1.
    """
    check_positive("γ", gamma)
    if not 1.0 <= tokens <= gamma + 1.0:
        raise ValueError(f"{gamma:g} guesses bring 1 to {gamma + 1:g} tokens, not {tokens:g}.")
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, gamma) < tokens else (low, middle)
    return high


def tokens_by_depth(chances: Sequence[float]) -> float:
    """Tokens that a round brings where acceptance differs by depth: 1 + a₁ + a₁a₂ + …

    chances: by guess, the chance that it is kept once all before it were.
    """
    for value in chances:
        check_probability("A chance by depth", value)
    return 1.0 + sum(accumulate(chances, lambda above, here: above * here))


def speedup_from_tokens(tokens: float, draft: float, verify: float = 1.0) -> float:
    """Speed-up over plain decoding of rounds that bring `tokens` and cost draft + verify.

    draft, verify: drafting a round and checking it, in plain target passes. With verify = 1 the
    guesses are checked for nothing (section 3.3); a large batch or a large tree makes it more.
    """
    check_not_negative("The tokens of a round", tokens)
    check_not_negative("The cost of drafting", draft)
    return tokens / (draft + check_positive("The cost of the checking pass", verify))


def speedup(alpha: float, gamma: float, c: float, verify: float = 1.0) -> float:
    """The speed law: (1 − α^(γ+1)) / ((1 − α)(γc + 1)). Paper: theorem 3.8; `verify` is its 1."""
    return speedup_from_tokens(
        expected_tokens(alpha, gamma), gamma * check_not_negative("c", c), verify
    )


def can_pay(alpha: float, c: float) -> bool:
    """Whether some γ is faster than plain decoding: where α > c. Paper: corollary 3.9."""
    return check_probability("α", alpha) > check_not_negative("c", c)


def guaranteed_speedup(alpha: float, c: float) -> float:
    """The speed-up at γ = 1, (1 + α) / (1 + c); the best γ does no worse. Corollary 3.9."""
    return speedup(alpha, 1, c)


def relative_operations(alpha: float, gamma: float, c_hat: float) -> float:
    """Arithmetic per token over plain decoding's: (1 − α)(γĉ + γ + 1) / (1 − α^(γ+1)).

    c_hat: operations of the drafter per token / the target's. The time may fall while this rises:
    rejected guesses were computed too. Paper: theorem 3.11.
    """
    work = gamma * check_not_negative("ĉ", c_hat) + gamma + 1.0
    return work / expected_tokens(alpha, gamma)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best draft length and its speed-up; gamma None: the longer the better, up to that."""

    origin: ClassVar[str] = "simulated"
    gamma: int | None
    speedup: float


def optimal_gamma(alpha: float, c: float) -> Optimum:
    """The γ of the largest speed-up, the smallest where several tie. Paper: section 3.5.

    The gain rises until one more guess no longer earns its cost, and falls from there: it is a
    concave sum over a line. Without a cost (n-gram) it rises for ever, towards 1 / (1 − α).
    """
    check_probability("α", alpha)
    check_not_negative("c", c)
    if c == 0.0 and alpha > 0.0:
        return Optimum(None, inf if alpha == 1.0 else 1.0 / (1.0 - alpha))
    if alpha == 1.0 and c < 1.0:
        return Optimum(None, 1.0 / c)
    gamma = bisect_left(range(2**62), True, key=lambda g: not _one_more_helps(alpha, g, c))
    return Optimum(gamma, speedup(alpha, gamma, c))


def _one_more_helps(alpha: float, gamma: int, c: float) -> bool:
    """Whether S(γ + 1) > S(γ), multiplied out: α^(γ+1) (γc + 1) > c · E[tokens]."""
    earned = alpha ** (gamma + 1) * (gamma * c + 1.0)
    return earned > c * expected_tokens(alpha, gamma) * (1.0 + TOLERANCE)


CONTOUR_BISECTIONS: Final = 20  # of the unit interval: a millionth, finer than any picture
MAX_GAMMA: Final = 64  # the γ up to which `cost_at` looks


@dataclass(frozen=True, slots=True)
class SpeedupModel:
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
        check_probability("α", self.alpha)
        check_not_negative("c", self.c)
        check_positive("The checking pass", self.verify)
        check_not_negative("ĉ", self.c_hat)

    def speedup(self, gamma: float) -> float:
        """The law's speed-up at γ; 1 where nothing is drafted."""
        return speedup(self.alpha, gamma, self.c, self.verify) if gamma else 1.0

    def arithmetic(self, gamma: float) -> float:
        """Operations per token over plain decoding's."""
        return relative_operations(self.alpha, gamma, self.c_hat)

    def best(self) -> Optimum:
        """The γ of the largest speed-up; 0 where no draft is faster than plain decoding."""
        found = optimal_gamma(self.alpha, self.c / self.verify)
        if found.gamma is None:
            gamma, top = None, found.speedup / self.verify
        else:
            gamma = max(1, found.gamma)
            top = self.speedup(gamma)
        return Optimum(gamma, top) if top > 1.0 + TOLERANCE else Optimum(0, 1.0)


def contour_alpha(level: float, gamma: float, c: float, verify: float = 1.0) -> float | None:
    """The smallest α whose speed-up at γ is `level`; None where even α = 1 is slower."""

    def reaches(alpha: float) -> bool:
        return speedup(alpha, gamma, c, verify) >= level

    return _bisect(reaches) if reaches(1.0) else None


def contour_gamma(level: float, c: float, verify: float, low: float, high: float) -> float:
    """Between two draft lengths, of which α = 1 reaches `level` at one alone, where that turns."""

    def reaches(part: float) -> bool:
        return speedup(1.0, low + part * (high - low), c, verify) >= level

    wanted = reaches(1.0)
    return low + _bisect(lambda part: reaches(part) == wanted) * (high - low)


def contour_cost(level: float, alpha: float, verify: float = 1.0) -> float | None:
    """The largest c at which some γ up to LONGEST reaches `level`; None where none does for free.

    S = E / (γc + verify) = level, solved for c at each γ.
    """
    most = max(
        (expected_tokens(alpha, gamma) / level - verify) / gamma
        for gamma in range(1, MAX_GAMMA + 1)
    )
    return most if most >= 0.0 else None


def _bisect(reached: Callable[[float], bool]) -> float:
    """Where in [0, 1] a test that never fails again begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(CONTOUR_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
