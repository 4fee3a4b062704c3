"""What a rule's text really follows: exactly, by enumeration or formula, and by throwing coins.

A map, for who shows it:

- `laws`: numbers that a person typed or dragged as a law (`as_law`), `total_variation` of two.
- `drawing`: how candidates are drawn and what q the rule is told (`Drawing`; `plainly(drawn)`).
- `enumeration`: the production rule itself on every branch, for small vocabularies: `answer` for
  one position (law, α, what came through the draft and what through the residual), `joint_law`,
  `plain_law`, `accepted_length` for chains and trees.
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

from specviz.verification.exact.drawing import Drawing, Model, proposals
from specviz.verification.exact.enumeration import (
    Answer,
    Law,
    Round,
    acceptance,
    accepted_length,
    answer,
    distance,
    joint_law,
    output_law,
    plain_law,
    verdicts,
)
from specviz.verification.exact.statistics import GTest, exact_sampler_distance, g_test

__all__ = [
    "Answer",
    "Drawing",
    "GTest",
    "Law",
    "Model",
    "Round",
    "acceptance",
    "accepted_length",
    "answer",
    "distance",
    "exact_sampler_distance",
    "g_test",
    "joint_law",
    "output_law",
    "plain_law",
    "proposals",
    "verdicts",
]
