"""α at one position: the chance that one of its candidates is kept, before any coin falls.

Exact. A lone sampled candidate is weighed over all that q could have drawn, a full vocabulary;
several are weighed as they were drawn, since what each rejection leaves depends on them, and the
mean over draws is the rule's own acceptance. A point mass has nothing to average over.
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
    """The chance that a position keeps one of its candidates, and what it follows from.

    value: None where it is not asked for. tries: where several were sampled, (p, q) of each in the
    order tried, under the laws that would be in force at its turn; None elsewhere.
    """

    value: float | None
    tries: list[list[float]] | None


def acceptance_probability(
    law: NodeDistributions, tokens: Sequence[int], drawn: Drawn
) -> AcceptanceProbability:
    """The chance that one of the siblings `tokens` is kept where p and q are `law`.

    Point mass (no q, or a rule that reads none): Σ p over the distinct candidates. One sampled
    candidate: Σ min(p, q). Several: 1 − Π(1 − min(1, pᵢ/qᵢ)), given the candidates.
    """
    if law.q is None:
        return AcceptanceProbability(min(1.0, law.p[list(set(tokens))].sum().item()), None)
    if len(tokens) == 1:
        return AcceptanceProbability(min(1.0, overlap(law.p, law.q).item()), None)
    each = sibling_tries(law.p, law.q, tokens, drawn)
    return AcceptanceProbability(probability_any_accepted(each), each)


def sibling_tries(p: Tensor, q: Tensor, tokens: Sequence[int], drawn: Drawn) -> list[list[float]]:
    """(p, q) of every sibling at its turn, as if all before it were rejected. p, q: (V,)."""
    found = []
    for token in tokens:
        found.append([p[token].item(), q[token].item()])
        p = residual(p, q)
        if drawn is Drawn.WITHOUT_REPLACEMENT:
            q = remove_token(q, token)
    return found
