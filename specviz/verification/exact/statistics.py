"""What counts of throws can say of a law, and what an exact sampler's counts would look like.

Fix the number of throws before looking: each test here is of one look (VERIFICATION.md section 8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import torch
from torch import Tensor

MIN_EXPECTED: Final = 5.0  # a cell that expects fewer is merged: χ² is no good guide to it


@dataclass(frozen=True, slots=True)
class GTest:
    """G = 2 Σ O ln(O/E), its degrees of freedom, and the chance of a larger G under the null."""

    statistic: float
    degrees: int
    p_value: float


def g_test(counts: Sequence[int], law: Sequence[float], least: float = MIN_EXPECTED) -> GTest:
    """Compare counts with a law by cell; cells expecting fewer than `least` are merged.

    Raises ValueError where a token of probability zero was seen: no test is needed then.
    """
    total = sum(counts)
    if any(count and not share for count, share in zip(counts, law, strict=True)):
        raise ValueError("A token of probability zero was drawn.")
    cells = [(c, share * total) for c, share in zip(counts, law, strict=True) if share]
    big = [cell for cell in cells if cell[1] >= least]
    small = [cell for cell in cells if cell[1] < least]
    if small:
        big.append((sum(c for c, _ in small), sum(e for _, e in small)))
    statistic = 2 * sum(c * math.log(c / e) for c, e in big if c)
    return _tested(statistic, len(big) - 1)


def g_test_of_two(
    one: Mapping[Any, int], other: Mapping[Any, int], least: float = MIN_EXPECTED
) -> GTest:
    """Whether two samples are of one law: counts by outcome, expected ones from both together.

    Outcomes that either sample expects fewer than `least` of are merged.
    """
    sizes = sum(one.values()), sum(other.values())
    if not all(sizes):
        return GTest(0.0, 0, 1.0)
    cells: list[tuple[int, int]] = []
    few = [0, 0]
    for outcome in sorted(one.keys() | other.keys(), key=repr):
        a, b = one.get(outcome, 0), other.get(outcome, 0)
        if (a + b) * min(sizes) / sum(sizes) < least:
            few = [few[0] + a, few[1] + b]
        else:
            cells.append((a, b))
    cells += [(few[0], few[1])] if any(few) else []
    statistic = 0.0
    for pair in cells:
        expected = [sum(pair) * size / sum(sizes) for size in sizes]
        statistic += 2 * sum(c * math.log(c / e) for c, e in zip(pair, expected, strict=True) if c)
    return _tested(statistic, len(cells) - 1)


def _tested(statistic: float, degrees: int) -> GTest:
    statistic = max(statistic, 0.0)
    if degrees < 1:
        return GTest(statistic, max(degrees, 0), 1.0)
    half = torch.tensor([degrees / 2, statistic / 2], dtype=torch.float64)
    return GTest(statistic, degrees, float(torch.special.gammaincc(half[0], half[1])))


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a probability lies, by a sample of it."""

    low: float
    high: float


def wilson(count: int, throws: int, level: float = 0.95) -> Interval:
    """Wilson's interval for a share seen `count` times in so many throws (Wilson 1927).

    Unlike the usual ±, it holds near 0 and 1 too. level: the chance to hold the truth.
    """
    if not throws:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, spread = count / throws, z * z / throws
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / throws + spread / (4 * throws))
    low = 0.0 if not count else centre - half
    return Interval(low, 1.0 if count == throws else centre + half)


def wilson_intervals(counts: Sequence[int], level: float = 0.95) -> list[Interval]:
    """An interval for every token, at the level at which all of them together are right so often.

    Bonferroni's: 1 − (1 − level)/V each.
    """
    each = 1 - (1 - level) / max(len(counts), 1)
    return [wilson(count, sum(counts), each) for count in counts]


def exact_sampler_distance(p: Tensor, samples: int) -> float:
    """The total variation that an *exact* sampler would show after so many samples, about.

    ½ Σ √(2 p (1 − p) / (π N)): without this line readers take noise for error.
    """
    return float((2 * p * (1 - p) / (math.pi * samples)).sqrt().sum() / 2)


def sample_distance(counts: Sequence[int], p: Sequence[float]) -> float:
    """The total variation between what was seen and p; 0 where nothing was thrown."""
    throws = sum(counts)
    pairs = zip(counts, p, strict=True)
    return sum(abs(c / throws - share) for c, share in pairs) / 2 if throws else 0.0
