"""The speed-up formula of Leviathan et al. for chains, its optimum, and measured runs.

Times are in plain target passes. α is the acceptance probability of a draft token; the formula
assumes that it is equal and independent at every position. γ is the number of draft tokens in a
chain; its mean over a run need not be an integer. c is the time to draft one token. Paper:
Leviathan et al., 2211.17192, section 3.

A measured run can be compared with the formula: only its attribute `predicted` is simulated. For a
tree, γ is the depth, and α is the probability that one of the siblings is accepted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import expm1, inf, isfinite, log
from statistics import mean
from typing import Final

from specviz.trace import metrics
from specviz.trace.events import Guess, Round
from specviz.trace.file import Trace


def check_probability(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not a probability."""
    if not 0.0 <= value <= 1.0:  # NaN fails this comparison, too
        raise ValueError(f"{name} must be a probability from 0 to 1, not {value:g}.")
    return value


def check_not_negative(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not finite and at least 0."""
    if not (isfinite(value) and value >= 0.0):
        raise ValueError(f"{name} must be at least 0, not {value:g}.")
    return value


def check_positive(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not finite and above 0."""
    if not (isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be greater than 0, not {value:g}.")
    return value


BISECTIONS: Final = 50  # halvings of the interval [0, 1], down to the resolution of a float near 1
TOLERANCE: Final = 1e-12  # relative difference below which two speed-ups count as equal


def expected_tokens(alpha: float, gamma: float) -> float:
    """Return the mean tokens per round: 1 + α + … + α^γ = (1 − α^(γ+1)) / (1 − α).

    The target's own token is included; the accepted length is one less. Source: equation 1 of the
    paper.
    """
    check_probability("α", alpha)
    check_not_negative("γ", gamma)
    if alpha == 1.0:
        return gamma + 1.0
    if alpha == 0.0 or gamma == 0.0:  # which rounding could put below 1
        return 1.0
    return -expm1((gamma + 1.0) * log(alpha)) / (1.0 - alpha)  # exact even near 1


def solve_alpha(tokens: float, gamma: float) -> float:
    """Return the α at which rounds of γ draft tokens give this mean number of tokens.

    This is the inverse of `expected_tokens`.

    Args:
        tokens: Mean tokens per round including the target's own, so from 1 to γ + 1.
        gamma: Draft tokens per round.
    """
    check_positive("γ", gamma)
    if not 1.0 <= tokens <= gamma + 1.0:
        raise ValueError(f"{gamma:g} draft tokens yield 1 to {gamma + 1:g} tokens, not {tokens:g}.")
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, gamma) < tokens else (low, middle)
    return high


def tokens_by_depth(chances: Sequence[float]) -> float:
    """Return the mean tokens per round if acceptance differs by depth.

    It is 1 + a₁ + a₁a₂ + …, where aᵢ is the acceptance at depth i. chances: for each position, the
    probability of acceptance if all earlier tokens were accepted.
    """
    for value in chances:
        check_probability("A probability by depth", value)
    return 1.0 + sum(accumulate(chances, lambda above, here: above * here))


def speedup_from_tokens(tokens: float, draft: float, verify: float = 1.0) -> float:
    """Return the speed-up over plain decoding of rounds that add `tokens` each.

    Args:
        tokens: Mean tokens per round.
        draft: Time of drafting a round, in plain target passes.
        verify: Time of verifying it. 1 means that verification takes no longer than a plain pass
            (section 3.3); with a large batch or a large tree it takes longer.
    """
    check_not_negative("The tokens of a round", tokens)
    check_not_negative("The cost of drafting", draft)
    return tokens / (draft + check_positive("The cost of the verification pass", verify))


def speedup(alpha: float, gamma: float, c: float, verify: float = 1.0) -> float:
    """Return the speed-up (1 − α^(γ+1)) / ((1 − α)(γc + v)), theorem 3.8 with v = 1."""
    return speedup_from_tokens(
        expected_tokens(alpha, gamma), gamma * check_not_negative("c", c), verify
    )


def can_pay(alpha: float, c: float) -> bool:
    """Return whether some γ is faster than plain decoding: α > c (corollary 3.9 of the paper)."""
    return check_probability("α", alpha) > check_not_negative("c", c)


def relative_operations(alpha: float, gamma: float, c_hat: float) -> float:
    """Return operations per token, relative to plain decoding.

    This is (1 − α)(γĉ + γ + 1) / (1 − α^(γ+1)), theorem 3.11 of the paper. Operations can increase
    while time decreases, because rejected tokens are also computed.

    Args:
        alpha: Acceptance probability.
        gamma: Draft tokens per round.
        c_hat: The drafter's operations per token, relative to the target's.
    """
    work = gamma * check_not_negative("ĉ", c_hat) + gamma + 1.0
    return work / expected_tokens(alpha, gamma)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best draft length, None if a longer one is always better, and its speed-up."""

    gamma: int | None
    speedup: float


def optimal_gamma(alpha: float, c: float) -> Optimum:
    """Return the γ with the largest speed-up; of equal ones the smallest (section 3.5).

    The speed-up is a concave sum divided by a linear cost: it increases until the next draft token
    costs more than it gains, and then decreases. At c = 0 (n-gram), it always increases with γ,
    towards 1 / (1 − α).
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
    # S(γ + 1) > S(γ), written as α^(γ+1) (γc + 1) > c · E[tokens].
    earned = alpha ** (gamma + 1) * (gamma * c + 1.0)
    return earned > c * expected_tokens(alpha, gamma) * (1.0 + TOLERANCE)


@dataclass(frozen=True, slots=True)
class SpeedupModel:
    """The parameters of the formula; times are in plain target passes.

    At γ = 0 the pass costs 1, regardless of `verify`. Invalid values raise ValueError. c_hat: the
    drafter's operations per token, relative to the target's.
    """

    alpha: float
    c: float
    verify: float = 1.0
    c_hat: float = 0.0

    def __post_init__(self) -> None:
        check_probability("α", self.alpha)
        check_not_negative("c", self.c)
        check_positive("The verification pass", self.verify)
        check_not_negative("ĉ", self.c_hat)

    def speedup(self, gamma: float) -> float:
        """Return the speed-up at γ; 1 if nothing is drafted."""
        return speedup(self.alpha, gamma, self.c, self.verify) if gamma else 1.0

    def arithmetic(self, gamma: float) -> float:
        """Return operations per token, relative to plain decoding."""
        return relative_operations(self.alpha, gamma, self.c_hat)

    def best(self) -> Optimum:
        """Return the γ with the largest speed-up; 0 if none is faster than plain decoding."""
        found = optimal_gamma(self.alpha, self.c / self.verify)
        if found.gamma is None:
            gamma, top = None, found.speedup / self.verify
        else:
            gamma = max(1, found.gamma)
            top = self.speedup(gamma)
        return Optimum(gamma, top) if top > 1.0 + TOLERANCE else Optimum(0, 1.0)


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """Means over the rounds of a run that drafted; times are in plain target passes.

    Attributes:
        alpha: Acceptance probability at a judged position.
        verify: Time of the target pass, judging and commit.
        speedup: Speed-up of the whole run, including round 0 and rounds without a draft.
        tokens_per_pass: New tokens per target pass of the whole run, as everywhere else;
            None in points saved by older pages.
    """

    alpha: float
    gamma: float
    guesses: float
    c: float
    verify: float
    tokens: float
    speedup: float
    tokens_per_pass: float | None = None

    @property
    def chain(self) -> bool:
        """Whether no draft token had a sibling."""
        return self.gamma == self.guesses

    @property
    def predicted(self) -> float:
        """The formula's speed-up for these values (simulated)."""
        return speedup(self.alpha, self.gamma, self.c, self.verify)


def measured_point(trace: Trace) -> MeasuredPoint | None:
    """Return the measured point of a run; None if nothing was drafted or there is no baseline."""
    numbers, plain = metrics.summary(trace), trace.baseline
    rounds = [played for played in trace.rounds if _guesses(played) and played.committed]
    if plain is None or len(plain.seconds) < 2 or not rounds:
        return None
    if numbers["alpha"] is None or numbers["speedup"] is None:
        return None
    baseline = mean(plain.seconds[1:])  # the first round is the prefill
    drafts = [played.proposed for played in rounds if played.proposed]
    levels = mean(max(draft.depths) for draft in drafts)
    return MeasuredPoint(
        alpha=numbers["alpha"],
        gamma=levels,
        guesses=mean(len(draft.guesses) for draft in drafts),
        c=mean(draft.seconds for draft in drafts) / levels / baseline,
        verify=mean(map(_checking, rounds)) / baseline,
        tokens=mean(len(played.committed.tokens) for played in rounds if played.committed),
        speedup=numbers["speedup"],
        tokens_per_pass=numbers["tokens_per_pass"],
    )


def _guesses(played: Round) -> Sequence[Guess]:
    return played.proposed.guesses if played.proposed else ()


def _checking(played: Round) -> float:
    commit = played.committed.commit_seconds if played.committed else 0.0
    return metrics.verify_seconds(played) + commit
