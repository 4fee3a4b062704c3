"""Leviathan's speed law for chains: what a round brings, what it costs, how long a draft pays best.

One unit of time is a plain target pass. α: the chance that a guess is kept, the same everywhere and
independent (a model, not a measurement). γ: guesses in a chain; it may be a run's mean, so it need
not be whole. c: seconds of drafting one token / seconds of a plain target pass. Paper: Leviathan et
al., 2211.17192, section 3. Standard library only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import expm1, inf, log
from typing import ClassVar, Final

from specviz.cost.checks import chance, not_negative, positive

HALVINGS: Final = 50  # of the unit interval: as fine as a float near 1
SAME: Final = 1e-12  # speed-ups nearer to each other than this share are equal: rounding, no gain


def expected_tokens(alpha: float, gamma: float) -> float:
    """Tokens that a round brings on average: 1 + α + … + α^γ = (1 − α^(γ+1)) / (1 − α).

    The target's own token is counted: the accepted length is one less. Paper: eq. 1.
    """
    chance("α", alpha)
    not_negative("γ", gamma)
    if alpha == 1.0:
        return gamma + 1.0
    if alpha == 0.0:
        return 1.0
    return -expm1((gamma + 1.0) * log(alpha)) / (1.0 - alpha)  # exact near 1 too


def alpha_of(tokens: float, gamma: float) -> float:
    """The α with which a round of γ guesses brings so many tokens: `expected_tokens` turned round.

    tokens: the target's own is counted, so from 1 to γ + 1.
    """
    positive("γ", gamma)
    if not 1.0 <= tokens <= gamma + 1.0:
        raise ValueError(f"{gamma:g} guesses bring 1 to {gamma + 1:g} tokens, not {tokens:g}.")
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, gamma) < tokens else (low, middle)
    return high


def tokens_by_depth(chances: Sequence[float]) -> float:
    """Tokens that a round brings where acceptance differs by depth: 1 + a₁ + a₁a₂ + …

    chances: by guess, the chance that it is kept once all before it were.
    """
    for value in chances:
        chance("A chance by depth", value)
    return 1.0 + sum(accumulate(chances, lambda above, here: above * here))


def speedup_of(tokens: float, draft: float, verify: float = 1.0) -> float:
    """Speed-up over plain decoding of rounds that bring `tokens` and cost draft + verify.

    draft, verify: drafting a round and checking it, in plain target passes. With verify = 1 the
    guesses are checked for nothing (section 3.3); a large batch or a large tree makes it more.
    """
    not_negative("The tokens of a round", tokens)
    not_negative("The cost of drafting", draft)
    return tokens / (draft + positive("The cost of the checking pass", verify))


def speedup(alpha: float, gamma: float, c: float, verify: float = 1.0) -> float:
    """The speed law: (1 − α^(γ+1)) / ((1 − α)(γc + 1)). Paper: theorem 3.8; `verify` is its 1."""
    return speedup_of(expected_tokens(alpha, gamma), gamma * not_negative("c", c), verify)


def can_pay(alpha: float, c: float) -> bool:
    """Whether some γ is faster than plain decoding: where α > c. Paper: corollary 3.9."""
    return chance("α", alpha) > not_negative("c", c)


def sure_speedup(alpha: float, c: float) -> float:
    """The speed-up at γ = 1, (1 + α) / (1 + c); the best γ does no worse. Corollary 3.9."""
    return speedup(alpha, 1, c)


def operations(alpha: float, gamma: float, c_hat: float) -> float:
    """Arithmetic per token over plain decoding's: (1 − α)(γĉ + γ + 1) / (1 − α^(γ+1)).

    c_hat: operations of the drafter per token / the target's. The time may fall while this rises:
    rejected guesses were computed too. Paper: theorem 3.11.
    """
    work = gamma * not_negative("ĉ", c_hat) + gamma + 1.0
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
    chance("α", alpha)
    not_negative("c", c)
    if c == 0.0 and alpha > 0.0:
        return Optimum(None, inf if alpha == 1.0 else 1.0 / (1.0 - alpha))
    if alpha == 1.0 and c < 1.0:
        return Optimum(None, 1.0 / c)
    gamma = bisect_left(range(2**62), True, key=lambda g: not _one_more_helps(alpha, g, c))
    return Optimum(gamma, speedup(alpha, gamma, c))


def _one_more_helps(alpha: float, gamma: int, c: float) -> bool:
    """Whether S(γ + 1) > S(γ), multiplied out: α^(γ+1) (γc + 1) > c · E[tokens]."""
    earned = alpha ** (gamma + 1) * (gamma * c + 1.0)
    return earned > c * expected_tokens(alpha, gamma) * (1.0 + SAME)
