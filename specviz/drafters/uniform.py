"""A blind guess: every token of the vocabulary has the same probability, q = 1/V.

It shows how low α can be: Σ min(p, 1/V) for sampled guesses. The drafter uses neither the text nor
the target nor the temperature, and is still lossless, because the rule needs the true q, not a good
one. If guesses are greedy, or at temperature 0, they are a point mass on the tokens that the u for
drafting select; verification uses other u, so the guesses do not depend on its u.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from specviz.drafters.common.base import Weightless
from specviz.drafters.common.proposal_builder import candidate_kind
from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.distributions import Draw, exact_dtype
from specviz.verification.tree import DraftTree


class Uniform(Weightless):
    """The uniform drafter. Fits any target and has no weights."""

    name = "uniform"

    def begin(self, target: TargetRun, settings: Settings) -> UniformSession:
        """Implement `Drafter.begin`."""
        return UniformSession(target.target, settings)


class UniformSession(Session):
    """A session that stores only the uniform distribution."""

    def __init__(self, target: Target, settings: Settings) -> None:
        super().__init__(target, settings)
        self.size, device = target.vocab_size, target.device
        self.distribution = torch.full(
            (self.size,), 1 / self.size, dtype=exact_dtype(device), device=device
        )
        self.branches = settings.branches
        self.drawn = candidate_kind(settings, self.branches)

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`. Nodes are numbered level by level."""
        tokens, parents = [context[-1]], [-1]
        draws: dict[int, Draw] = {}
        level = [0]
        for depth in range(max_tokens - 1):
            start = len(tokens)
            for parent in level:
                first = len(tokens)
                coins = (chance.draft(first + i) for i in range(self.settings.width(depth)))
                picks = distinct_picks(self.size, coins)
                draws |= dict(enumerate(picks, first))
                tokens += [draw.token for draw in picks]
                parents += [parent] * len(picks)
            level = [
                node for node in range(start, len(tokens)) if tokens[node] not in self.target.eos
            ]
        tree = DraftTree(tuple(tokens), tuple(parents))
        remark = {"form": "lower-bound", "vocabulary": self.size}
        evidence = {0: remark} if len(tree) > 1 else {}
        if self.drawn is Drawn.POINT_MASS:
            return Proposal(tree, self.drawn, evidence=evidence, work=Work())
        q = dict.fromkeys(parents[1:], self.distribution)
        return Proposal(tree, self.drawn, q, draws, evidence=evidence, work=Work())


def distinct_picks(size: int, coins: Iterable[float]) -> list[Draw]:
    """Return what `distributions.draw` would draw from a uniform distribution, by arithmetic.

    There is one draw per u, without replacement, until no tokens are left. Tokens with equal
    probability are ordered by id, so u selects the ⌊u·n⌋-th of the n remaining ids.
    """
    draws: list[Draw] = []
    for left, u in zip(range(size, 0, -1), coins, strict=False):
        index = int(u * left)
        if u < index / left:  # u · left was rounded up
            index -= 1
        elif u >= (index + 1) / left:  # u · left was rounded down
            index += 1
        token = index
        for removed in sorted(draw.token for draw in draws):
            token += removed <= token
        draws.append(Draw(token, u, index / left, (index + 1) / left))
    return draws
