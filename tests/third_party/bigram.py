"""A drafter outside the package: it expects a token to be followed by the same token as before.

This file and its row in catalog.json are the complete drafter.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from specviz.drafters.common.base import Weightless
from specviz.drafters.common.session import Session
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification.tree import DraftTree


class Bigram(Weightless):
    """Fits any target and loads nothing."""

    name = "bigram"

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`."""
        return BigramSession(target.target, settings)


class BigramSession(Session):
    """Keeps no state: it uses only the text."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`: propose the token that last followed, and so on."""
        follows = dict(pairwise(context))
        guesses: list[int] = []
        newest = context[-1]
        while len(guesses) < max_tokens - 1 and newest in follows:
            newest = follows[newest]
            guesses.append(newest)
            if newest in self.target.eos:
                break
        return Proposal(DraftTree.chain(context[-1], guesses), self.drawn)
