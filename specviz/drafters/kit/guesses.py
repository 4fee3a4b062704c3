"""Guesses under the nodes of a level: made where the laws are, told to the host when it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Protocol

import torch
from torch import Tensor

from specviz.drafters.kit.siblings import Coins, Drawing, distinct_draws
from specviz.settings.settings import Sampling
from specviz.verification.distributions import Draw, check_finite, logits_to_probs
from specviz.verification.transfer import to_host


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
