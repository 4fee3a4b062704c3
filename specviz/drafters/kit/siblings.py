"""Siblings drawn from a drafter's laws, one after another, each without those before it.

Rule: between two siblings nobody waits. What was drawn is taken out of its law where the laws are,
and the host reads all draws of a level at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specviz.verification.crossing import read, sent, upload
from specviz.verification.distributions import Draw, Walked, draw, leading, walk, without


@dataclass(frozen=True, slots=True)
class Siblings:
    """By law, its draws in order, and by draw the chance that was asked of its token."""

    draws: list[list[Draw]] = field(default_factory=list)
    chances: list[list[float]] = field(default_factory=list)

    @property
    def tokens(self) -> list[list[int]]:
        """By law, the tokens drawn."""
        return [[made.token for made in some] for some in self.draws]


@dataclass(frozen=True, slots=True)
class _Rank:
    """The draws of one rank. laws: (m, V), what they are from. chances: (m, 1), of the tokens."""

    laws: Tensor
    walked: Walked
    chances: Tensor


def distinct_draws(laws: Tensor, coins: Sequence[Sequence[float]], chances: Tensor) -> Siblings:
    """By row of laws (n, V), one draw a coin, each without the tokens of those before it.

    Every row has a coin; one with more coins than possible tokens has a token twice. chances:
    (n, V), asked about the tokens drawn.
    """
    order = sorted(range(len(coins)), key=lambda row: -len(coins[row]))
    if order != sorted(order):  # those that have a coin of some rank stand in front
        index = upload(order, laws.device)
        laws, chances = laws[index], chances[index]
    ranks = _ranks(laws, [coins[row] for row in order], chances)
    asked = [each for rank in ranks for each in (*rank.walked[:3], rank.chances)]
    told = iter(each.flatten().tolist() for each in read(*asked))
    rows = [list(zip(*four, strict=True)) for four in zip(told, told, told, told, strict=True)]
    found = Siblings([[] for _ in coins], [[] for _ in coins])
    for at, row in enumerate(order):
        for rank, u in enumerate(coins[row]):
            token, lo, hi, chance = rows[rank][at]
            if not lo <= u < hi:
                rest = _one_by_one(ranks[rank].laws[at], coins[row][rank:])
                found.draws[row].extend(rest)
                found.chances[row].extend(chances[at, made.token].item() for made in rest)
                break
            found.draws[row].append(Draw(int(token), u, lo, hi))
            found.chances[row].append(chance)
    return found


def _ranks(laws: Tensor, coins: Sequence[Sequence[float]], chances: Tensor) -> list[_Rank]:
    """The draws rank by rank, where the laws are. coins: by row, never more than the row before."""
    values, ids = leading(laws)
    by_rank = [[some[rank] for some in coins if len(some) > rank] for rank in range(len(coins[0]))]
    found: list[_Rank] = []
    for us, thrown in zip(by_rank, _sent(by_rank, values.device), strict=True):
        many = len(us)
        if found:
            before = found[-1].walked
            token, place = before.token[:many].to(laws.device), before.place[:many]
            rest = laws[:many].scatter(-1, token, 0.0)
            total = rest.sum(-1, keepdim=True)
            laws = torch.where(total > 0, rest / total, laws[:many])
            values = values[:many].scatter(-1, place, 0.0) / total.to(values.device)
        walked = walk(values, ids[:many], thrown)
        said = chances[:many].gather(-1, walked.token.to(laws.device))
        found.append(_Rank(laws, walked, said))
    return found


def _sent(by_rank: Sequence[Sequence[float]], device: torch.device) -> list[float | Tensor]:
    """The coins of each rank there, (m, 1); a lone one goes along with the op that asks for it."""
    many = [len(us) if len(us) > 1 else 0 for us in by_rank]
    if not any(many):
        return [us[0] for us in by_rank]
    flat = [u for us in by_rank for u in us if len(us) > 1]
    there = sent(torch.tensor(flat, dtype=torch.float64)[:, None], device).split(many)
    return [part if len(us) > 1 else us[0] for us, part in zip(by_rank, there, strict=True)]


def _one_by_one(law: Tensor, coins: Sequence[float]) -> list[Draw]:
    """The same from one law (V,), each draw read before the next: for one that lies far down."""
    found: list[Draw] = []
    for u in coins:
        found.append(draw(law, u))
        law = without(law, found[-1].token)
    return found
