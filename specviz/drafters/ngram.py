"""Prompt lookup: finds an earlier occurrence of the last tokens and copies its continuation.

The match is the longest suffix of the text, with a length within [min, max], that occurred before;
if it occurred several times, the earliest occurrence (as in vLLM and transformers). There is no
model, so q is a point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specviz.drafters.common.base import Weightless
from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.lookup import longest_match
from specviz.trace.work import Work
from specviz.verification.tree import DraftTree


class NGram(Weightless):
    """The n-gram drafter. Fits any target and has no weights."""

    name = "ngram"

    def begin(self, target: TargetRun, settings: Settings) -> NGramSession:
        """Implement `Drafter.begin`."""
        return NGramSession(target.target, settings)


class NGramSession(Session):
    """A session without state: every proposal searches the whole text."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Recorded for each node: the match, and the position in the text that the token was copied
        # from.
        shortest, longest = self.settings.ngram_min, self.settings.ngram_max
        found = longest_match(context, shortest, longest)
        guesses = self._until_end(context[found.end : found.end + max_tokens - 1]) if found else []
        remark: dict[str, Any] = {"form": "match", "min": shortest, "max": longest}
        if found:
            remark |= {"start": found.start, "length": found.length}
        evidence = {0: remark}
        if found:
            evidence |= {i: {"from": found.end + i - 1} for i in range(1, len(guesses) + 1)}
        tree = DraftTree.chain(context[-1], guesses)
        return Proposal(tree, self.drawn, evidence=evidence, work=Work())

    def _until_end(self, guesses: Sequence[int]) -> list[int]:
        for i, token in enumerate(guesses):
            if token in self.target.eos:
                return list(guesses[: i + 1])
        return list(guesses)
