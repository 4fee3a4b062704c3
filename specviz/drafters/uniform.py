"""A blind guess: every token of the vocabulary is as likely as any other, q = 1/V.

The lower end of α: Σ min(p, 1/V) when guesses are sampled. It knows nothing of the text, of the
target or of the temperature, and it is still lossless, for the rule needs a true q, not a good
one. As a point mass (greedy candidates, or temperature 0) the tokens are those that the same coins
pick: the coins that judge are others, so the guess is fixed before any of them falls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from specviz.drafters.kit.base import Weightless
from specviz.drafters.kit.growing import kind
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.distributions import Draw, exact_dtype
from specviz.verification.tree import DraftTree


class Uniform(Weightless):
    """Fits any target; nothing to load."""

    name = "uniform"

    def begin(self, target: TargetRun, settings: Settings) -> UniformSession:
        """See `Drafter`."""
        return UniformSession(target, settings)


class UniformSession:
    """Keeps nothing but the one law that it has."""

    def __init__(self, target: TargetRun, settings: Settings) -> None:
        self.eos = target.target.eos
        self.size = target.target.vocab_size
        device = target.target.device
        self.law = torch.full((self.size,), 1 / self.size, dtype=exact_dtype(device), device=device)
        self.settings = settings
        self.drawn = kind(settings)
        self.branches = settings.branches

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Nodes are numbered level by level."""
        tokens, parents = [context[-1]], [-1]
        draws: dict[int, Draw] = {}
        level = [0]
        for depth in range(max_tokens - 1):
            start = len(tokens)
            for parent in level:
                first = len(tokens)
                coins = (chance.draft(first + i) for i in range(self.settings.width(depth)))
                made = distinct_picks(self.size, coins)
                draws |= dict(enumerate(made, first))
                tokens += [draw.token for draw in made]
                parents += [parent] * len(made)
            level = [node for node in range(start, len(tokens)) if tokens[node] not in self.eos]
        tree = DraftTree(tuple(tokens), tuple(parents))
        remark = {"form": "lower-bound", "vocabulary": self.size}
        evidence = {0: remark} if len(tree) > 1 else {}
        if self.drawn is Drawn.POINT_MASS:
            return Proposal(tree, self.drawn, evidence=evidence, work=Work())
        q = dict.fromkeys(parents[1:], self.law)
        return Proposal(tree, self.drawn, q, draws, evidence=evidence, work=Work())

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`. There is nothing to roll back."""


def distinct_picks(size: int, coins: Iterable[float]) -> list[Draw]:
    """What `distributions.draw` gives on the uniform law of `size` tokens, without the walk.

    One a coin, each without the tokens of those before it; fewer where the tokens run out. Equals
    stand by id, so u falls on the u·n-th of the n ids that are left.
    """
    draws: list[Draw] = []
    for left, u in zip(range(size, 0, -1), coins, strict=False):
        place = int(u * left)
        if u < place / left:  # the product was rounded up
            place -= 1
        elif u >= (place + 1) / left:  # or down
            place += 1
        token = place
        for gone in sorted(draw.token for draw in draws):
            token += gone <= token
        draws.append(Draw(token, u, place / left, (place + 1) / left))
    return draws
