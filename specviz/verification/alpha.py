"""α at one position: the chance that one of its candidates is kept, before any coin falls.

Exact, over the full vocabulary, given the laws; for a point mass, given the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.verification.base import Drawn, Law
from specviz.verification.distributions import overlap, residual, without


def keep_chance(law: Law, tokens: Sequence[int], drawn: Drawn) -> float:
    """The chance that one of the siblings `tokens` is kept where p and q are `law`.

    Point mass (no q, or a rule that reads none): Σ p over the distinct candidates. Sampled: one
    minus the chance that all are rejected, each under the residual that the others left; without
    replacement that residual depends on which tokens were tried.
    """
    p, q = law.p, law.q
    if q is None:
        return min(1.0, p[list(set(tokens))].sum().item())
    miss = 1.0
    for token in tokens:
        miss *= 1.0 - min(1.0, overlap(p, q).item())
        p = residual(p, q)
        if drawn is Drawn.WITHOUT_REPLACEMENT:
            q = without(q, token)
    return 1.0 - miss
