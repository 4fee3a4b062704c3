"""Guesses of a model drafter, put under a node: drawn or ranked, a level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification import Drawn
from specviz.verification.crossing import read, upload
from specviz.verification.distributions import Draw, draw, law, without
from specviz.verification.tree import DraftTree


@dataclass(slots=True)
class Growing:
    """A proposal in the making; see `Proposal`. tokens, parents: by node, as in DraftTree."""

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    q: dict[int, Tensor] = field(default_factory=dict)
    draws: dict[int, Draw] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)

    def add(self, parent: int, tokens: Sequence[int], chances: Tensor) -> None:
        """Number new guesses under `parent` in the order tried. chances: (V,), after the parent."""
        first = len(self.tokens)
        self.tokens += tokens
        self.parents += [parent] * len(tokens)
        self.score |= dict(enumerate(chances[list(tokens)].tolist(), first))

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
            ranked = tops(logits, max(widths))
            for node, width, tokens, row in zip(nodes, widths, ranked, chances, strict=True):
                self.add(node, tokens[:width], row)
            return
        laws = law(logits, settings.sampling)
        for node, width, q, row in zip(nodes, widths, laws, chances, strict=True):
            first = len(self.tokens)
            draws = distinct_draws(q, [chance.draft(first + i) for i in range(width)])
            self.q[node] = q
            self.draws |= dict(enumerate(draws, first))
            self.add(node, [made.token for made in draws], row)

    def tree(self) -> DraftTree:
        """The tree so far."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))


def kind(settings: Settings) -> Drawn:
    """How a draft model's candidates are drawn under these settings."""
    if settings.candidates == "greedy" or settings.sampling.greedy:
        return Drawn.POINT_MASS
    return Drawn.WITHOUT_REPLACEMENT if settings.branches else Drawn.SAMPLED


def distinct_draws(law: Tensor, coins: Sequence[float]) -> list[Draw]:
    """One draw a coin from `law` (V,), each without the tokens of those before it.

    Fewer where top-k or top-p leave fewer tokens than there are coins.
    """
    draws: list[Draw] = []
    possible = int((law > 0).sum()) if len(coins) > 1 else 1
    for u in coins[:possible]:
        if draws:
            law = without(law, draws[-1].token)
        draws.append(draw(law, u))
    return draws


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
