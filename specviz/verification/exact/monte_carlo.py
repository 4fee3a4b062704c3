"""A rule tested with random samples, beside what an exact sampler would give.

The production rule runs once for each branch that a sample takes, with all samples of that branch
at once, so 20,000 rounds take a fraction of a second for small vocabularies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from specviz.verification.exact.candidates import Context
from specviz.verification.exact.enumeration import (
    RoundSetup,
    plain_distribution,
    play_round,
    string_masses,
)
from specviz.verification.exact.masses import SampledMass
from specviz.verification.exact.statistics import (
    GTest,
    Interval,
    exact_sampler_distance,
    g_test,
    sample_distance,
    wilson_intervals,
)


@dataclass(frozen=True)
class SampleCounts:
    """Counts of outcomes and the distribution that they should follow.

    Attributes:
        counts: How often each outcome came.
        expected: The probability of each outcome in plain decoding.
        kept: How many samples accepted a guess.
    """

    counts: list[int]
    expected: list[float]
    kept: int

    @property
    def throws(self) -> int:
        """The number of samples."""
        return sum(self.counts)

    @cached_property
    def impossible(self) -> int:
        """The number of outcomes that plain decoding never gives: one is proof enough."""
        return sum(c for c, share in zip(self.counts, self.expected, strict=True) if not share)

    @cached_property
    def test(self) -> GTest:
        """The G-test against the expected distribution; G is infinite if the impossible came."""
        if self.impossible:
            return GTest(float("inf"), len(self.counts) - 1, 0.0)
        return g_test(self.counts, self.expected)

    @cached_property
    def intervals(self) -> list[Interval]:
        """Wilson's interval of every outcome; all contain the truth at once 19 times in 20."""
        return wilson_intervals(self.counts)

    @property
    def tv(self) -> float:
        """The distance observed: noise, and loss if the rule is lossy."""
        return sample_distance(self.counts, self.expected)

    @property
    def noise(self) -> float:
        """The approximate distance that an exact sampler would show with this many samples."""
        p = torch.tensor(self.expected, dtype=torch.float64)
        return exact_sampler_distance(p, max(self.throws, 1))


def _coins(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sample_first_token(round: RoundSetup, throws: int, seed: int) -> SampleCounts:
    """Sample the first token of many rounds of one position, a chain or a tree."""
    p = round.target(())
    counts, accepted = torch.zeros(len(p), dtype=torch.long), 0
    for mass, tree, verdict in play_round(round, SampledMass(throws, _coins(seed))):
        if verdict.path:
            counts[tree.tokens[verdict.path[0]]] += mass.size
            accepted += mass.size
        else:
            counts += torch.tensor([each.size for each in mass.spread(verdict.final.probs)])
    return SampleCounts(counts.tolist(), p.tolist(), accepted)


def sample_strings(
    round: RoundSetup, throws: int, seed: int, length: int
) -> tuple[list[Context], SampleCounts]:
    """Sample the first `length` tokens of many rounds, each continued by plain decoding.

    Returns:
        The strings, and their counts (without `accepted`).
    """
    seen = string_masses(round, SampledMass(throws, _coins(seed)), length)
    expected = plain_distribution(round.target, length)
    outcomes = sorted(seen.keys() | expected.keys())
    counts = [int(seen.get(outcome, 0)) for outcome in outcomes]
    return outcomes, SampleCounts(counts, [expected.get(each, 0.0) for each in outcomes], 0)
