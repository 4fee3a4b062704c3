"""Guesses of a model drafter, put under a node: drawn or ranked, a level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count

import torch
from torch import Tensor

from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification import Drawn
from specviz.verification.crossing import read, upload
from specviz.verification.distributions import Draw, draw_each, law, without
from specviz.verification.tree import DraftTree


@dataclass(slots=True)
class Growing:
    """A proposal in the making; see `Proposal`. tokens, parents: by node, as in DraftTree."""

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    q: dict[int, Tensor] = field(default_factory=dict)
    draws: dict[int, Draw] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)

    def add(self, nodes: Sequence[int], guesses: Sequence[Sequence[int]], chances: Tensor) -> None:
        """Number new guesses under each of these nodes in the order tried.

        chances: (n, V), by node, of what follows it.
        """
        first, pairs = len(self.tokens), [(i, t) for i, some in enumerate(guesses) for t in some]
        self.tokens += [token for _, token in pairs]
        self.parents += [nodes[i] for i, _ in pairs]
        if pairs:
            rows, tokens = upload(list(zip(*pairs, strict=True)), chances.device)
            self.score |= dict(enumerate(chances[rows, tokens].tolist(), first))

    def ends(self, node: int, settings: Settings, eos: Sequence[int]) -> bool:
        """Whether nothing is guessed under a node: the text ends there, or the model is unsure."""
        unsure = self.score.get(node, 1.0) < settings.confidence
        return bool(node) and (unsure or self.tokens[node] in eos)

    def branch(
        self,
        level: range,
        logits: Tensor,
        depth: int,
        settings: Settings,
        eos: Sequence[int],
        chance: Chance,
    ) -> None:
        """Put guesses under every node of a level that does not end. logits: (n, V), by node."""
        open_ = [node for node in level if not self.ends(node, settings, eos)]
        rows = logits
        if len(open_) < len(level):
            rows = logits[upload([node - level.start for node in open_], logits.device)]
        self.put(open_, [settings.width(depth)] * len(open_), rows, settings, chance)

    def put(
        self,
        nodes: Sequence[int],
        widths: Sequence[int],
        logits: Tensor,
        settings: Settings,
        chance: Chance,
    ) -> None:
        """Put so many guesses under each of these nodes. logits: (n, V), of what follows each."""
        chances = logits.float().softmax(-1)
        if kind(settings) is Drawn.POINT_MASS:
            ranked = zip(widths, tops(logits, max(widths)), strict=True)
            self.add(nodes, [tokens[:width] for width, tokens in ranked], chances)
            return
        laws = law(logits, settings.sampling)
        first, coins = len(self.tokens), count(len(self.tokens))
        many = possible(laws, widths)
        draws = distinct_draws(laws, [[chance.draft(next(coins)) for _ in range(n)] for n in many])
        self.q |= dict(zip(nodes, laws, strict=True))
        self.draws |= dict(enumerate(chain.from_iterable(draws), first))
        self.add(nodes, [[made.token for made in some] for some in draws], chances)

    def tree(self) -> DraftTree:
        """The tree so far."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))


def kind(settings: Settings) -> Drawn:
    """How a draft model's candidates are drawn under these settings."""
    if settings.candidates == "greedy" or settings.sampling.greedy:
        return Drawn.POINT_MASS
    return Drawn.WITHOUT_REPLACEMENT if settings.branches else Drawn.SAMPLED


def possible(laws: Tensor, widths: Sequence[int]) -> list[int]:
    """By row of laws (n, V), how many of so many guesses it can give: top-k may leave fewer."""
    if max(widths) == 1:
        return list(widths)
    left = (laws > 0).sum(-1).tolist()
    return [min(width, some) for width, some in zip(widths, left, strict=True)]


def distinct_draws(laws: Tensor, coins: Sequence[Sequence[float]]) -> list[list[Draw]]:
    """By row of laws (n, V), one draw a coin, each without the tokens of those before it.

    No row has more coins than possible tokens. Siblings of one rank are drawn together.
    """
    made: list[list[Draw]] = [[] for _ in coins]
    left = list(laws)
    for rank in range(max(map(len, coins))):
        rows = [i for i, some in enumerate(coins) if len(some) > rank]
        if rank:
            for i in rows:
                left[i] = without(left[i], made[i][-1].token)
        for i, drew in zip(
            rows, draw_each([left[i] for i in rows], [coins[i][rank] for i in rows]), strict=True
        ):
            made[i].append(drew)
    return made


def tops(logits: Tensor, many: int) -> list[list[int]]:
    """By row of logits (n, V), the `many` likeliest tokens, falling; none that is forbidden."""
    values, ids = read(*logits.topk(min(many, logits.shape[-1])))
    possible = (values > -torch.inf).sum(-1).tolist()
    return [tokens[:some] for tokens, some in zip(ids.tolist(), possible, strict=True)]


def fit(logits: Tensor, size: int) -> Tensor:
    """Logits (..., W) over the first `size` ids: models pad one vocabulary to different sizes."""
    missing = size - logits.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
    return logits[..., :size]
