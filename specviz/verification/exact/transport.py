"""The ceiling: the highest chance to keep a candidate that any lossless rule could reach.

A rule joins the tuple of candidates with a token that follows p; α* is the most that any joining
gives to "the token is in the tuple": a linear program. By its dual, a minimal cut (Hu et al.
2502.18779), α* = min over sets H of tokens of p(H) + 1 − P(all candidates lie in H): tokens of H
take no more than p(H), and tuples that touch the rest no more than their own chance. All 2^V sets
are tried, so it is for small vocabularies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn

MAX_VOCABULARY: Final = 16  # tokens: 65,536 sets


def acceptance_ceiling(p: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> float:
    """α* of so many candidates. p, q: laws (V,) of at most LARGEST tokens. Raises ValueError."""
    size = len(p)
    if size > MAX_VOCABULARY:
        raise ValueError(
            f"The ceiling tries all sets of tokens: {MAX_VOCABULARY} at most, not {size:,}."
        )
    sets = torch.arange(2**size)
    held = ((sets[:, None] >> torch.arange(size)) & 1).to(torch.float64)
    inside = all_inside(held, q.double(), drawn, candidates)
    return min(1.0, (held @ p.double() + 1.0 - inside).min().item())


def all_inside(held: Tensor, q: Tensor, drawn: Drawn, candidates: int) -> Tensor:
    """By set, the chance that all candidates lie in it. held: (sets, V), 1 for a token of it."""
    if drawn is Drawn.SAMPLED:
        return (held @ q) ** candidates
    if drawn is Drawn.POINT_MASS:
        top = q.sort(descending=True, stable=True).indices[:candidates]
        return held[:, top].prod(dim=-1)
    chances = [_all_in(set_, q.tolist(), candidates) for set_ in held.tolist()]
    return torch.tensor(chances, dtype=torch.float64)


def _all_in(held: Sequence[float], q: Sequence[float], candidates: int) -> float:
    """Of draws without replacement: over every set of tokens drawn so far, its chance.

    A law that has no token left gives its last one again, so nothing new can leave the set.
    """
    chances = {frozenset[int](): 1.0}
    for _ in range(candidates):
        after: dict[frozenset[int], float] = {}
        for drawn, chance in chances.items():
            left = sum(share for token, share in enumerate(q) if token not in drawn)
            if left <= 0.0:
                after[drawn] = after.get(drawn, 0.0) + chance
                continue
            for token, share in enumerate(q):
                if held[token] and share and token not in drawn:
                    grown = drawn | {token}
                    after[grown] = after.get(grown, 0.0) + chance * share / left
        chances = after
    return sum(chances.values())
