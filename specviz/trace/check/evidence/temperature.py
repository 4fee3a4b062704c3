"""Check the temperature that the recorded probabilities of one distribution fix.

q of a token is proportional to its probability at temperature 1, its score, to the power 1/T. So
for two tokens of one distribution, ln q₁ − ln q₂ = (ln s₁ − ln s₂) / T. Top-k and top-p divide all
q by the same number, so this also holds for the tokens that they keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.rules import ROUNDED
from specviz.trace.check.expectations import MIN_MASS, expect

# Scores are float32: their logarithm is known up to this rounding, times its own size for the
# rounding of the logit. q has the same rounding on devices without float64.
FLOAT32: Final = 2.0**-21
STEPS: Final = 16.0  # roundings of a logit near 0, of the sum of a softmax, and of the exponential


@dataclass(frozen=True, slots=True)
class Logarithm:
    """The logarithm of a recorded probability, and how far it may be from the exact one."""

    value: float
    error: float


def read_logarithm(probability: float, rounding: float = 0.0) -> Logarithm | None:
    """Return the logarithm of a probability; None if its rounding is as large as itself."""
    if probability <= max(2.0 * rounding, 1e-30):
        return None
    value = math.log(probability)
    error = FLOAT32 * (STEPS + abs(value)) + rounding / (probability - rounding)
    return Logarithm(value, error)


def check_temperature_ratios(
    draft: Draft, listed: Callable[[Draft, int], Mapping[int, float]]
) -> None:
    """Check that the ratios of all q with scores agree with the temperature.

    Raises CheckFailed if a ratio belongs to another temperature.
    """
    sampling = draft.settings.sampling
    if draft.proposed.drawn == "point-mass" or sampling.greedy:
        return
    for node in draft.parents:
        scores = recorded_scores(draft, node, listed(draft, node))
        q = recorded_q(draft, node)
        both = [(q[token], scores[token], token) for token in q if token in scores]
        both.sort(key=lambda each: -each[0].value)
        for found, score, token in both[1:]:
            top_q, top_score, _ = both[0]
            ratio = top_q.value - found.value
            expected = (top_score.value - score.value) / sampling.temperature
            slack = top_q.error + found.error
            slack += (top_score.error + score.error) / sampling.temperature
            problem = (
                f"q of token {token} is e^−{ratio:.6g} of another's, but at temperature "
                f"{sampling.temperature:g} their scores give e^−{expected:.6g}"
            )
            expect(abs(ratio - expected) <= slack, f"{draft.where}, after node {node}", problem)


def recorded_scores(draft: Draft, node: int, listed: Mapping[int, float]) -> dict[int, Logarithm]:
    """Return the known probabilities at temperature 1 under a node, by token."""
    found = {token: read_logarithm(p, ROUNDED) for token, p in listed.items()}
    for child in draft.children(node):
        guess = draft.guesses[child - 1]
        if guess.score is not None:  # more precise than a rounded probability
            found[guess.token] = read_logarithm(guess.score)
    return {token: value for token, value in found.items() if value is not None}


def recorded_q(draft: Draft, node: int) -> dict[int, Logarithm]:
    """Return the known q under a node before anything was removed from it, by token."""
    found: dict[int, Logarithm | None] = {}
    left = 1.0
    siblings = draft.children(node)
    for child in siblings:
        guess = draft.guesses[child - 1]
        if guess.q is None or left < MIN_MASS:
            break
        found[guess.token] = read_logarithm(guess.q * left)
        if draft.proposed.drawn == "without-replacement":
            left -= guess.q * left
    first = next((event for event in draft.played.judged if event.node == siblings[0]), None)
    if first is not None and first.rows.q is not None:
        rows = zip(first.rows.tokens, first.rows.q, strict=True)
        found |= {token: read_logarithm(q) for token, q in rows if token not in found}
    return {token: value for token, value in found.items() if value is not None}
