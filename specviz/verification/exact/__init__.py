"""The output distribution of a rule: by enumeration, by formula and by sampling.

- `candidates`: how candidates are sampled and which q the rule is given (`CandidateMethod`).
- `enumeration`: runs the real rule on every branch, for small vocabularies: `enumerate_position`
  for one position; `joint_distribution`, `plain_distribution` and `accepted_length` for chains and
  trees.
- `closed_form`: formulas for one position, for vocabularies of 150,000 tokens; and the highest
  acceptance probability that any rule could reach (`acceptance_ceiling`).
- `monte_carlo`: runs the real rule with random numbers (`sample_first_token`, `sample_strings`),
  G-tests, Wilson intervals, and von Neumann's dartboard (`throw_darts`).
- `recorded_run`: for each verdict of a recorded run, the distance of the rule's output from p
  (`verdict_bounds`, `worst_bounds`), and its distributions cut to few tokens (`excerpt`).

Repeating one prompt with and without speculation needs models: `specviz.engine.decode.repeat`.
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
from specviz.verification.exact.monte_carlo import GTest, exact_sampler_distance, g_test

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
