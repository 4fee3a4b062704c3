"""α at one position: the probability that one of its candidates is accepted, before any u is known.

It is exact. With one sampled candidate, it averages over everything that q could have produced.
With several, it is given the candidates, since what each rejection leaves depends on them; its mean
over draws is the rule's acceptance. A point mass needs no average.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.trace.thresholds import probability_any_accepted
from specviz.verification.base import NodeDistributions
from specviz.verification.distributions import overlap, remove_token, residual


class AcceptanceProbability(NamedTuple):
    """The probability that a position accepts one of its candidates, and what it follows from.

    Attributes:
        value: The probability; None if it was not computed.
        tries: For several sampled candidates, (p, q) of each in order, after the rejections before
            it; otherwise None.
    """

    value: float | None
    tries: list[list[float]] | None


def acceptance_probability(
    distributions: NodeDistributions, tokens: Sequence[int], drawn: Drawn
) -> AcceptanceProbability:
    """Return the probability that one of the siblings `tokens` is accepted.

    For a point mass (no q, or a rule that reads none) it is Σ p over the distinct candidates; for
    one sampled candidate Σ min(p, q); for several 1 − Π(1 − min(1, pᵢ/qᵢ)), given the candidates.
    """
    if distributions.q is None:
        return AcceptanceProbability(
            min(1.0, distributions.p[list(set(tokens))].sum().item()), None
        )
    if len(tokens) == 1:
        return AcceptanceProbability(
            min(1.0, overlap(distributions.p, distributions.q).item()), None
        )
    pairs = sibling_tries(distributions.p, distributions.q, tokens, drawn)
    return AcceptanceProbability(probability_any_accepted(pairs), pairs)


def sibling_tries(p: Tensor, q: Tensor, tokens: Sequence[int], drawn: Drawn) -> list[list[float]]:
    """Return (p, q) of every sibling as if all before it were rejected. p, q: (V,)."""
    found = []
    for token in tokens:
        found.append([p[token].item(), q[token].item()])
        p = residual(p, q)
        if drawn is Drawn.WITHOUT_REPLACEMENT:
            q = remove_token(q, token)
    return found
