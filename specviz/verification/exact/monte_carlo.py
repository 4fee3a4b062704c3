"""Rules tested with random samples: counts, significance tests, and von Neumann's dartboard.

The real rule runs once for each branch that some sample takes, with all samples of that branch at
once, so 20,000 rounds take a fraction of a second for small vocabularies. Choose the number of
samples in advance: the tests here are not valid if they are repeated while samples are added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import torch
from torch import Tensor

from specviz.verification.exact.candidates import Context
from specviz.verification.exact.enumeration import (
    RoundSetup,
    SampledMass,
    plain_distribution,
    play_round,
    string_masses,
)
from specviz.verification.rules import max_ratio

MIN_EXPECTED: Final = 5.0  # cells that expect fewer are merged, since χ² is inaccurate for them


@dataclass(frozen=True, slots=True)
class GTest:
    """The result of a G-test: G = 2 Σ O ln(O/E), and the probability of a larger one."""

    statistic: float
    degrees: int
    p_value: float


def g_test(counts: Sequence[int], probs: Sequence[float], least: float = MIN_EXPECTED) -> GTest:
    """Compare counts with a distribution, merging rare cells; ValueError if p is 0 for a sample."""
    total = sum(counts)
    if any(count and not share for count, share in zip(counts, probs, strict=True)):
        raise ValueError("A token of probability zero was sampled.")
    cells = [(c, share * total) for c, share in zip(counts, probs, strict=True) if share]
    big = [cell for cell in cells if cell[1] >= least]
    small = [cell for cell in cells if cell[1] < least]
    if small:
        big.append((sum(c for c, _ in small), sum(e for _, e in small)))
    statistic = 2 * sum(c * math.log(c / e) for c, e in big if c)
    return _tested(statistic, len(big) - 1)


def g_test_of_two(
    one: Mapping[Any, int], other: Mapping[Any, int], least: float = MIN_EXPECTED
) -> GTest:
    """Test whether two samples, given as counts, come from the same distribution.

    Expected counts are computed from both samples together; outcomes with an expected count below
    `least` in either sample are merged.
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
    """An interval for a probability, estimated from a sample."""

    low: float
    high: float


def wilson(count: int, throws: int, level: float = 0.95) -> Interval:
    """Return Wilson's interval for a share seen `count` times in `throws` samples (Wilson 1927).

    Unlike the normal approximation, it is valid near 0 and 1. `level` is the probability that the
    interval contains the true value.
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
    """Return intervals per token that hold together with probability `level` (Bonferroni)."""
    each = 1 - (1 - level) / max(len(counts), 1)
    return [wilson(count, sum(counts), each) for count in counts]


def exact_sampler_distance(p: Tensor, samples: int) -> float:
    """Return the approximate distance of `samples` samples from p: ½ Σ √(2 p (1 − p) / (π N))."""
    return float((2 * p * (1 - p) / (math.pi * samples)).sqrt().sum() / 2)


def sample_distance(counts: Sequence[int], p: Sequence[float]) -> float:
    """Return the total variation between the counts and p; 0 without samples."""
    throws = sum(counts)
    pairs = zip(counts, p, strict=True)
    return sum(abs(c / throws - share) for c, share in pairs) / 2 if throws else 0.0


@dataclass(frozen=True)
class SampleCounts:
    """Counts of outcomes, their distribution, and in how many samples a guess was accepted."""

    counts: list[int]
    expected: list[float]
    kept: int

    @property
    def throws(self) -> int:
        """The number of samples."""
        return sum(self.counts)

    @cached_property
    def impossible(self) -> int:
        """The number of samples that plain decoding cannot give; one proves a lossy rule."""
        return sum(c for c, share in zip(self.counts, self.expected, strict=True) if not share)

    @cached_property
    def test(self) -> GTest:
        """The G-test against the expected distribution; G is infinite if `impossible`."""
        if self.impossible:
            return GTest(float("inf"), len(self.counts) - 1, 0.0)
        return g_test(self.counts, self.expected)

    @cached_property
    def intervals(self) -> list[Interval]:
        """Wilson intervals of all outcomes, valid simultaneously at 95%."""
        return wilson_intervals(self.counts)

    @property
    def tv(self) -> float:
        """The observed distance: sampling noise, plus the rule's error if it is lossy."""
        return sample_distance(self.counts, self.expected)

    @property
    def noise(self) -> float:
        """The approximate distance that an exact sampler would show with this many samples."""
        p = torch.tensor(self.expected, dtype=torch.float64)
        return exact_sampler_distance(p, max(self.throws, 1))


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sample_first_token(round: RoundSetup, throws: int, seed: int) -> SampleCounts:
    """Sample the first token of many rounds: of a single position, a chain or a tree."""
    p = round.target(())
    counts, accepted = torch.zeros(len(p), dtype=torch.long), 0
    for mass, tree, verdict in play_round(round, SampledMass(throws, _generator(seed))):
        if verdict.path:
            counts[tree.tokens[verdict.path[0]]] += mass.size
            accepted += mass.size
        else:
            counts += torch.tensor([each.size for each in mass.spread(verdict.final.probs)])
    return SampleCounts(counts.tolist(), p.tolist(), accepted)


def sample_strings(
    round: RoundSetup, throws: int, seed: int, length: int
) -> tuple[list[Context], SampleCounts]:
    """Sample and count the first `length` tokens of rounds, continued by plain decoding."""
    seen = string_masses(round, SampledMass(throws, _generator(seed)), length)
    expected = plain_distribution(round.target, length)
    outcomes = sorted(seen.keys() | expected.keys())
    counts = [int(seen.get(outcome, 0)) for outcome in outcomes]
    return outcomes, SampleCounts(counts, [expected.get(each, 0.0) for each in outcomes], 0)


@dataclass(frozen=True, slots=True)
class Darts:
    """Von Neumann's darts: random points under the curve M q, accepted if they are under p.

    The column (token) of a dart is sampled from q, and its height is uniform from 0 to M q(x). The
    accepted darts follow p, whatever q is. Speculative sampling throws one dart with M = 1: it is
    accepted if it is under p, and otherwise replaced by a dart between q and p, where p is greater.

    Attributes:
        tokens: (n,) the column of each dart.
        heights: (n,) its height.
        kept: (n,) whether it is under p.
        bound: M; the column of q is M q high.
    """

    tokens: Tensor
    heights: Tensor
    kept: Tensor
    bound: float

    @property
    def acceptance(self) -> float:
        """The probability of accepting a dart, 1/M."""
        return 1.0 / self.bound

    def counts(self, size: int) -> list[int]:
        """Return how many darts of each token were accepted."""
        found: list[int] = torch.bincount(self.tokens[self.kept], minlength=size).tolist()
        return found


def throw_darts(p: Tensor, q: Tensor, count: int, seed: int) -> Darts:
    """Throw `count` darts under M q, for p and q (V,); ValueError if no M is large enough."""
    highest = max_ratio(p, q).item()
    if highest == float("inf"):
        raise ValueError("q is 0 for a token that p has, so no dart can land on it.")
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(2, count, generator=generator, dtype=torch.float64)
    totals = q.double().cumsum(0)
    places = torch.searchsorted(totals, u[0] * totals[-1], right=True)
    tokens = places.clamp(max=len(q) - 1)
    heights = u[1] * highest * q.double()[tokens]
    return Darts(tokens, heights, heights < p.double()[tokens], highest)
