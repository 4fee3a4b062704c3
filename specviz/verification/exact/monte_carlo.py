"""A rule put to the test by coins that are really thrown, beside what an exact sampler would show.

The production rule itself is run: once on each branch that a throw takes, with all throws of that
branch at once; so 20,000 rounds take a fraction of a second for small vocabularies.
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
    """Counts of outcomes, the law that they should follow, and how many throws kept a guess.

    expected: by outcome, in the same order, its chance in plain decoding.
    """

    counts: list[int]
    expected: list[float]
    kept: int

    @property
    def throws(self) -> int:
        """How many rounds were thrown."""
        return sum(self.counts)

    @cached_property
    def impossible(self) -> int:
        """Throws that came out as something that plain decoding never says: proof by itself."""
        return sum(c for c, share in zip(self.counts, self.expected, strict=True) if not share)

    @cached_property
    def test(self) -> GTest:
        """The G-test against the expected law; a G of infinity where the impossible was seen."""
        if self.impossible:
            return GTest(float("inf"), len(self.counts) - 1, 0.0)
        return g_test(self.counts, self.expected)

    @cached_property
    def intervals(self) -> list[Interval]:
        """Wilson's interval of every outcome; all of them hold at once 19 times in 20."""
        return wilson_intervals(self.counts)

    @property
    def tv(self) -> float:
        """The distance seen: noise and, where the rule is lossy, loss."""
        return sample_distance(self.counts, self.expected)

    @property
    def noise(self) -> float:
        """The distance that an exact sampler would show after as many throws, about."""
        p = torch.tensor(self.expected, dtype=torch.float64)
        return exact_sampler_distance(p, max(self.throws, 1))


def _coins(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sample_first_token(round: RoundSetup, throws: int, seed: int) -> SampleCounts:
    """The first token of so many rounds. round: of one position, or of a chain or tree."""
    p = round.target(())
    counts, kept = torch.zeros(len(p), dtype=torch.long), 0
    for mass, tree, verdict in play_round(round, SampledMass(throws, _coins(seed))):
        if verdict.path:
            counts[tree.tokens[verdict.path[0]]] += mass.size
            kept += mass.size
        else:
            counts += torch.tensor([each.size for each in mass.spread(verdict.final.probs)])
    return SampleCounts(counts.tolist(), p.tolist(), kept)


def sample_strings(
    round: RoundSetup, throws: int, seed: int, length: int
) -> tuple[list[Context], SampleCounts]:
    """The first `length` tokens of so many rounds, each continued by plain decoding.

    Also the strings that the counts are of. kept is not counted here.
    """
    seen = string_masses(round, SampledMass(throws, _coins(seed)), length)
    expected = plain_distribution(round.target, length)
    outcomes = sorted(seen.keys() | expected.keys())
    counts = [int(seen.get(outcome, 0)) for outcome in outcomes]
    return outcomes, SampleCounts(counts, [expected.get(each, 0.0) for each in outcomes], 0)
