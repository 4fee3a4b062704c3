"""What a rule's text really follows: exactly, by enumeration or formula, and by throwing coins.

A map, for who shows it:

- `laws`: numbers that a person typed or dragged as a law (`as_law`), `total_variation` of two.
- `drawing`: how candidates are drawn and what q the rule is told (`CandidateMethod`; `plainly(drawn)`).
- `enumeration`: the production rule itself on every branch, for small vocabularies: `enumerate_position` for
  one position (law, α, what came through the draft and what through the residual), `joint_distribution`,
  `plain_distribution`, `accepted_length` for chains and trees.
- `closed`: the same answer for one position by formula, for vocabularies of 150,000.
- `monte_carlo`: `throw` (one position) and `throw_joint`: the rule itself, coins thrown.
- `statistics`: G-tests against a law and of two samples, Wilson intervals, and what an exact
  sampler would show.
- `transport`: the highest acceptance that any rule could reach.
- `darts`: von Neumann's picture: points under q, kept under p.
- `of_run`: at every verdict of a recorded run, the rule's law against p (`steps`, `worst`); and a
  verdict's laws cut to few tokens, for the sandbox (`excerpt`). The other half, one prompt many
  times with and without speculation, needs models: `specviz.engine.repeats.repeat`.
"""

from __future__ import annotations

from specviz.verification.exact.candidates import CandidateMethod, Model, proposals
from specviz.verification.exact.enumeration import (
    PositionResult,
    RoundSetup,
    StringDistribution,
    acceptance,
    accepted_length,
    distance,
    enumerate_position,
    joint_distribution,
    output_distribution,
    plain_distribution,
    verdicts,
)
from specviz.verification.exact.statistics import GTest, exact_sampler_distance, g_test

__all__ = [
    "CandidateMethod",
    "GTest",
    "Model",
    "PositionResult",
    "RoundSetup",
    "StringDistribution",
    "acceptance",
    "accepted_length",
    "distance",
    "enumerate_position",
    "exact_sampler_distance",
    "g_test",
    "joint_distribution",
    "output_distribution",
    "plain_distribution",
    "proposals",
    "verdicts",
]
