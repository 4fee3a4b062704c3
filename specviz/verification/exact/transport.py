"""The highest acceptance probability that any lossless rule could reach.

A rule couples the tuple of candidates with a token that follows p; α* is the largest probability of
"the token is in the tuple" over all couplings: a linear program. By its dual, a minimum cut (Hu et
al. 2502.18779), α* = min over sets H of tokens of p(H) + 1 − P(all candidates are in H): tokens in
H have at most p(H), and tuples that touch other tokens have at most their own probability. All 2^V
sets are tried, so it is for small vocabularies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn

MAX_VOCABULARY: Final = 16  # tokens: 65,536 sets


def acceptance_ceiling(p: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> float:
    """Return α* for a number of candidates.

    Args:
        p: The target's distribution (V,), V at most MAX_VOCABULARY.
        q: The draft's distribution (V,).
        drawn: How the candidates are sampled.
        candidates: Their number.

    Raises:
        ValueError: If the vocabulary is larger.
    """
    size = len(p)
    if size > MAX_VOCABULARY:
        raise ValueError(
            f"The ceiling can be computed for at most {MAX_VOCABULARY} tokens, not {size:,}."
        )
    sets = torch.arange(2**size)
    members = ((sets[:, None] >> torch.arange(size)) & 1).to(torch.float64)
    inside = all_inside(members, q.double(), drawn, candidates)
    return min(1.0, (members @ p.double() + 1.0 - inside).min().item())


def all_inside(members: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> Tensor:
    """Return for each set the probability that all candidates are in it.

    Args:
        members: (sets, V), 1 for the tokens of each set.
        q: The draft's distribution (V,).
        drawn: How the candidates are sampled.
        candidates: Their number.
    """
    if drawn is Drawn.SAMPLED:
        return (members @ q) ** candidates
    if drawn is Drawn.POINT_MASS:
        top = q.sort(descending=True, stable=True).indices[:candidates]
        return members[:, top].prod(dim=-1)
    chances = [_all_in(set_, q.tolist(), candidates) for set_ in members.tolist()]
    return torch.tensor(chances, dtype=torch.float64)


def _all_in(members: Sequence[float], q: Sequence[float], candidates: int) -> float:
    """Return the probability for draws without replacement, over every set of tokens drawn so far.

    If no token is left, the last one comes again, so nothing new can leave the set.
    """
    by_drawn = {frozenset[int](): 1.0}
    for _ in range(candidates):
        after: dict[frozenset[int], float] = {}
        for drawn, probability in by_drawn.items():
            left = sum(share for token, share in enumerate(q) if token not in drawn)
            if left <= 0.0:
                after[drawn] = after.get(drawn, 0.0) + probability
                continue
            for token, share in enumerate(q):
                if members[token] and share and token not in drawn:
                    grown = drawn | {token}
                    after[grown] = after.get(grown, 0.0) + probability * share / left
        by_drawn = after
    return sum(by_drawn.values())
