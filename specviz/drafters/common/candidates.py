"""Siblings drawn from a drafter's laws, one after another, each without those before it.

Rule: between two siblings nobody waits. What was drawn is taken out of its law where the laws are;
the host reads the draws later, those of a level or of many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Protocol

import torch
from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.verification.distributions import (
    TOP_SIZES,
    Draw,
    WalkEnd,
    check_finite,
    draw,
    logits_to_probs,
    remove_token,
    top_tokens,
    walk_to,
)
from specviz.verification.transfer import UploadBatch, to_device, to_host


@dataclass(frozen=True, slots=True)
class Siblings:
    """By law, its draws in order, and by draw the chance that was asked of its token.

    settled: whether the tokens are those that `Drawing.words` has, none of them twice in a law.
    """

    draws: list[list[Draw]] = field(default_factory=list)
    chances: list[list[float]] = field(default_factory=list)
    settled: bool = True

    @property
    def tokens(self) -> list[list[int]]:
        """By law, the tokens drawn."""
        return [[made.token for made in some] for some in self.draws]


class Coins:
    """The coins of some laws, at least one each. rows: by law, one a draw.

    order: the laws, those with the most coins first, so that those with a coin of some rank stand
    in front.
    """

    def __init__(self, rows: Sequence[Sequence[float]], parcel: UploadBatch | None = None) -> None:
        """parcel: in which they go to the laws; None where they go when these are known."""
        self.rows = rows
        self.order = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
        self._there = None if parcel is None else parcel.put(self._flat())

    @property
    def many(self) -> list[int]:
        """By rank, how many laws have a coin of it."""
        most = max(map(len, self.rows))
        return [sum(len(row) > rank for row in self.rows) for rank in range(most)]

    def by_rank(self, device: torch.device) -> Sequence[float | Tensor]:
        """By rank, its coins in `order`, where walks are made: (m, 1), float64.

        Those of a lone law go along with the op that asks for them.
        """
        if self._there is None and len(self.rows) == 1:
            return self.rows[0]
        there = to_device(self._flat(), device) if self._there is None else self._there()
        return list(there.split(self.many))

    def _flat(self) -> Tensor:
        """All coins, rank by rank, on the host: (draws, 1)."""
        ranks = enumerate(self.many)
        flat = [self.rows[at][rank] for rank, many in ranks for at in self.order[:many]]
        return torch.tensor(flat, dtype=torch.float64)[:, None]


@dataclass(frozen=True, slots=True)
class _Rank:
    """The draws of one rank. laws: (m, V), what they are from. chances: (m, 1), of the tokens."""

    laws: Tensor
    walked: WalkEnd
    chances: Tensor


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws that were made where the laws are, and that the host has not read.

    By law one draw a coin, each without the tokens of those before it; one with more coins than
    possible tokens has a token twice. chances: (n, V), asked about the tokens drawn.
    """

    coins: Coins
    chances: Tensor
    ranks: Sequence[_Rank]

    @classmethod
    def start(cls, laws: Tensor, coins: Coins, chances: Tensor) -> Drawing:
        """Draw from laws (n, V)."""
        ordered = [laws, chances]
        if coins.order != sorted(coins.order):
            ordered = [torch.stack([each[at] for at in coins.order]) for each in ordered]
        return cls(coins, chances, _ranks(ordered[0], ordered[1], coins))

    @property
    def words(self) -> Tensor:
        """The tokens drawn, (draws,), law by law; nonsense from where one was not found."""
        places = {row: at for at, row in enumerate(self.coins.order)}
        return torch.stack(
            [
                self.ranks[rank].walked.token[places[row], 0]
                for row, some in enumerate(self.coins.rows)
                for rank in range(len(some))
            ]
        )

    @property
    def asked(self) -> list[Tensor]:
        """What the host must know, see `told`."""
        return [each for rank in self.ranks for each in (*rank.walked[:3], rank.chances)]

    def told(self, asked: Sequence[Tensor]) -> Siblings:
        """The draws, by the values of `asked`; those that lie far down are sought one by one."""
        values = iter(each.flatten().tolist() for each in asked)
        rows = [list(zip(*four, strict=True)) for four in zip(*[values] * 4, strict=True)]
        found = Siblings([[] for _ in self.coins.rows], [[] for _ in self.coins.rows])
        settled = [
            self._row(found, row, [some[at] for some in rows if len(some) > at], at)
            for at, row in enumerate(self.coins.order)
        ]
        return Siblings(found.draws, found.chances, all(settled))

    def _row(self, found: Siblings, row: int, told: Sequence[Sequence[float]], at: int) -> bool:
        """One law's draws; whether they are settled. told: by rank, what was read of it."""
        draws, chances, coins = found.draws[row], found.chances[row], self.coins.rows[row]
        for rank, (u, (token, lo, hi, chance)) in enumerate(zip(coins, told, strict=True)):
            if not lo <= u < hi:
                rest = _one_by_one(self.ranks[rank].laws[at], coins[rank:])
                draws.extend(rest)
                chances.extend(self.chances[row, made.token].item() for made in rest)
                return False
            draws.append(Draw(int(token), u, lo, hi))
            chances.append(chance)
        return len({made.token for made in draws}) == len(draws)


def _ranks(laws: Tensor, chances: Tensor, coins: Coins) -> list[_Rank]:
    """The draws rank by rank, where the laws are; laws and chances in the order of the coins.

    Where a read waits for the device, the walk is over so many tokens that hardly a coin lies
    beyond them.
    """
    values, ids = top_tokens(laws, TOP_SIZES[1] if laws.device.type == "cuda" else TOP_SIZES[0])
    found: list[_Rank] = []
    for us, many in zip(coins.by_rank(values.device), coins.many, strict=True):
        if found:
            before = found[-1].walked
            token, place = before.token[:many].to(laws.device), before.place[:many]
            rest = laws[:many].scatter(-1, token, 0.0)
            total = rest.sum(-1, keepdim=True)
            laws = torch.where(total > 0, rest / total, laws[:many])
            values = values[:many].scatter(-1, place, 0.0) / total.to(values.device)
        walked = walk_to(values, ids[:many], us)
        said = chances[:many].gather(-1, walked.token.to(laws.device))
        found.append(_Rank(laws, walked, said))
    return found


def distinct_draws(laws: Tensor, coins: Sequence[Sequence[float]], chances: Tensor) -> Siblings:
    """See `Drawing`: all of it at once."""
    made = Drawing.start(laws, Coins(coins), chances)
    return made.told(to_host(*made.asked))


def _one_by_one(law: Tensor, coins: Sequence[float]) -> list[Draw]:
    """The same from one law (V,), each draw read before the next: for one that lies far down."""
    found: list[Draw] = []
    for u in coins:
        found.append(draw(law, u))
        law = remove_token(law, found[-1].token)
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """What the host has read. tokens, chances, draws: by node that they stand under.

    draws: none where nothing was drawn. settled: whether the tokens are those of `Guesses.words`.
    """

    tokens: Sequence[Sequence[int]]
    chances: Sequence[Sequence[float]]
    draws: Sequence[Sequence[Draw]] = ()
    settled: bool = True


class Guesses(Protocol):
    """Some under each of a level's nodes.

    laws: by node, what its guesses were drawn from, (V,); none where nothing was drawn.
    """

    @property
    def laws(self) -> Sequence[Tensor] | Tensor:
        """See above."""
        ...

    @property
    def words(self) -> Tensor:
        """The tokens, (guesses,), node by node. Nonsense where the host will see that they are."""
        ...

    @property
    def asked(self) -> list[Tensor]:
        """What the host must read for `told`."""
        ...

    def told(self, asked: Sequence[Tensor], who: str) -> Told:
        """What they are, by the values of `asked`. Raises BadScores. who: what errors call them."""
        ...


class Ranked:
    """The likeliest tokens, a point mass; none that is forbidden is among them."""

    laws: Sequence[Tensor] | Tensor = ()

    def __init__(self, logits: Tensor, widths: Sequence[int]) -> None:
        """Of logits (n, V), so many each. Their chances are those at temperature 1."""
        self.widths = widths
        self.values, self.ids = logits.topk(min(max(widths), logits.shape[-1]))
        self.chances = logits.float().softmax(-1).gather(-1, self.ids)

    @property
    def words(self) -> Tensor:
        """Implement `Guesses.words`."""
        return torch.cat([row[:width] for row, width in zip(self.ids, self.widths, strict=True)])

    @property
    def asked(self) -> list[Tensor]:
        """Implement `Guesses.asked`."""
        return [self.values, self.ids, self.chances]

    def told(self, asked: Sequence[Tensor], who: str) -> Told:
        """Implement `Guesses.told`."""
        values, ids, chances = (each.tolist() for each in asked)
        check_finite([row[0] for row in values], who)
        possible = [sum(value > -inf for value in row) for row in values]
        many = list(map(min, possible, self.widths))
        tokens = [row[:some] for row, some in zip(ids, many, strict=True)]
        said = [row[:some] for row, some in zip(chances, many, strict=True)]
        return Told(tokens, said, settled=many == list(self.widths))


class Sampled:
    """Draws from the laws that a run's sampling makes of logits, siblings without replacement.

    laws: (n, V), by node. flip: the coin of the guess of this number, from 0, in the level.
    """

    def __init__(
        self, logits: Tensor, sampling: Sampling, coins: Coins, flip: Callable[[int], float]
    ) -> None:
        """From logits (n, V), by these coins, which are `flip`'s."""
        self.flip = flip
        self.laws, self.chances = logits_to_probs(logits, sampling), logits.float().softmax(-1)
        self.drawing = Drawing.start(self.laws, coins, self.chances)

    @property
    def words(self) -> Tensor:
        """Implement `Guesses.words`."""
        return self.drawing.words

    @property
    def asked(self) -> list[Tensor]:
        """Implement `Guesses.asked`."""
        return self.drawing.asked

    def told(self, asked: Sequence[Tensor], who: str) -> Told:
        """Implement `Guesses.told`.

        Where a law has fewer tokens than coins, all are drawn anew with fewer.
        """
        found = self.drawing.told(asked)
        settled = found.settled
        check_finite([each for some in found.chances for each in some], who)
        if any(len(set(tokens)) < len(tokens) for tokens in found.tokens):
            many = possible(self.laws, [len(some) for some in found.draws])
            found = distinct_draws(self.laws, dealt(many, self.flip), self.chances)
        return Told(found.tokens, found.chances, found.draws, settled)


def dealt(many: Sequence[int], flip: Callable[[int], float]) -> list[list[float]]:
    """The coins of guesses that are numbered from 0, so many by node."""
    numbers = count()
    return [[flip(next(numbers)) for _ in range(some)] for some in many]


def possible(laws: Tensor, widths: Sequence[int]) -> list[int]:
    """By row of laws (n, V), how many of so many guesses it can give: top-k may leave fewer.

    At least one: who asks a row that is no law for a token is told so.
    """
    left = (laws > 0).sum(-1).tolist()
    return [min(width, max(1, some)) for width, some in zip(widths, left, strict=True)]


def tops(logits: Tensor, many: int, who: str) -> list[tuple[Sequence[int], Sequence[float]]]:
    """By row of logits (n, V), the `many` likeliest tokens, falling, and their chances.

    None that is forbidden is among them. Chances are those at temperature 1. Raises BadScores.
    """
    made = Ranked(logits, [many] * len(logits))
    told = made.told(to_host(*made.asked), who)
    return list(zip(told.tokens, told.chances, strict=True))
