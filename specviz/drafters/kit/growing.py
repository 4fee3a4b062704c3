"""Guesses of a model drafter, put under a node: drawn or ranked, a level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf

import torch
from torch import Tensor

from specviz.drafters.kit.siblings import Siblings, distinct_draws
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification import Drawn
from specviz.verification.crossing import read, upload
from specviz.verification.distributions import Draw, check_tops, law
from specviz.verification.tree import DraftTree


@dataclass(slots=True)
class Growing:
    """A proposal in the making; see `Proposal`. tokens, parents: by node, as in DraftTree.

    who: what errors call whoever guesses.
    """

    who: str
    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    q: dict[int, Tensor] = field(default_factory=dict)
    draws: dict[int, Draw] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)

    def add(
        self,
        nodes: Sequence[int],
        guesses: Sequence[Sequence[int]],
        chances: Sequence[Sequence[float]],
    ) -> None:
        """Number new guesses under each of these nodes in the order tried. chances: of each."""
        self.score |= dict(enumerate(chain.from_iterable(chances), len(self.tokens)))
        for node, some in zip(nodes, guesses, strict=True):
            self.tokens += some
            self.parents += [node] * len(some)

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
        """Put so many guesses under each of these nodes. logits: (n, V), of what follows each.

        Raises BadScores. What the host must know of a level is read at once.
        """
        if kind(settings) is Drawn.POINT_MASS:
            ranked = zip(widths, tops(logits, max(widths), self.who), strict=True)
            some = [(tokens[:width], chances[:width]) for width, (tokens, chances) in ranked]
            self.add(nodes, *zip(*some, strict=True))
            return
        laws, chances = law(logits, settings.sampling), logits.float().softmax(-1)
        many = possible(laws, widths) if settings.sampling.cuts else widths
        drawn = self._drawn(laws, chances, many, chance)
        if any(len(set(tokens)) < len(tokens) for tokens in drawn.tokens):  # a law ran out
            drawn = self._drawn(laws, chances, possible(laws, widths), chance)
        self.q |= dict(zip(nodes, laws, strict=True))
        self.draws |= dict(enumerate(chain.from_iterable(drawn.draws), len(self.tokens)))
        self.add(nodes, drawn.tokens, drawn.chances)

    def _drawn(
        self, laws: Tensor, chances: Tensor, many: Sequence[int], chance: Chance
    ) -> Siblings:
        """So many draws from each law, with the coins of the nodes that they will be."""
        numbers = count(len(self.tokens))
        coins = [[chance.draft(next(numbers)) for _ in range(some)] for some in many]
        drawn = distinct_draws(laws, coins, chances)
        check_tops([each for some in drawn.chances for each in some], self.who)
        return drawn

    def tree(self) -> DraftTree:
        """The tree so far."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))


def kind(settings: Settings) -> Drawn:
    """How a draft model's candidates are drawn under these settings."""
    if settings.candidates == "greedy" or settings.sampling.greedy:
        return Drawn.POINT_MASS
    return Drawn.WITHOUT_REPLACEMENT if settings.branches else Drawn.SAMPLED


def possible(laws: Tensor, widths: Sequence[int]) -> list[int]:
    """By row of laws (n, V), how many of so many guesses it can give: top-k may leave fewer.

    At least one: who asks a row that is no law for a token is told so.
    """
    if max(widths) == 1:
        return list(widths)
    left = (laws > 0).sum(-1).tolist()
    return [min(width, max(1, some)) for width, some in zip(widths, left, strict=True)]


def tops(logits: Tensor, many: int, who: str) -> list[tuple[list[int], list[float]]]:
    """By row of logits (n, V), the `many` likeliest tokens, falling, and their chances.

    None that is forbidden is among them. Chances are those at temperature 1. Raises BadScores.
    """
    best = logits.topk(min(many, logits.shape[-1]))
    chances = logits.float().softmax(-1).gather(-1, best.indices)
    values, ids, said = (each.tolist() for each in read(*best, chances))
    check_tops([row[0] for row in values], who)
    possible = [sum(value > -inf for value in row) for row in values]
    rows = zip(ids, said, possible, strict=True)
    return [(tokens[:some], chances[:some]) for tokens, chances, some in rows]


def fit(logits: Tensor, size: int) -> Tensor:
    """Logits (..., W) over the first `size` ids: models pad one vocabulary to different sizes."""
    missing = size - logits.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
    return logits[..., :size]
