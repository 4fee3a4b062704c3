"""Each rule's scalar test: a candidate is kept when its coin u falls below this number.

The rules use these functions to judge and a trace's re-check uses them to judge again, so there is
one of each. The test is strictly u < threshold: with u <= threshold, u = 0 would let in a token of
probability zero. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Test = Callable[[Mapping[str, float]], float]


def match(inputs: Mapping[str, float]) -> float:
    """Greedy: 1 where the candidate is the target's top token, else 0. inputs: p, one-hot."""
    return 1.0 if inputs["p"] >= 1.0 else 0.0


def ratio(inputs: Mapping[str, float]) -> float:
    """Speculative sampling: min(1, p/q), for a candidate drawn from q. inputs: p, q.

    Leviathan et al. 2211.17192, Chen et al. 2302.01318. Among siblings p (and, without
    replacement, q) are what the earlier rejections left: 2305.09781, 2402.14160.
    """
    p, q = inputs["p"], inputs["q"]
    if q <= 0.0:
        return 1.0 if p > 0.0 else 0.0
    return min(1.0, p / q)


def mass(inputs: Mapping[str, float]) -> float:
    """Point mass: p itself, since a candidate fixed beforehand has q = 1. inputs: p."""
    return min(1.0, inputs["p"])


TESTS: Mapping[str, Test] = {
    "greedy": match,
    "speculative": ratio,
    "without-replacement": ratio,
    "point-mass": mass,
}


def any_kept(tries: Sequence[Sequence[float]]) -> float:
    """The chance that one of several sampled siblings is kept: 1 − Π(1 − min(1, pᵢ/qᵢ)).

    tries: (p, q) of each in order, under the laws that the rejections before it leave. Exact given
    the candidates; its mean over their draws is the rule's acceptance.
    """
    return 1.0 - math.prod(1.0 - ratio({"p": p, "q": q}) for p, q in tries)
