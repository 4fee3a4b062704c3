"""SuffixDecoding (2411.04975): proposes the tokens that most often followed the same suffix before.

A draft is built from one suffix of the text and from the counts of the tokens that followed its
earlier occurrences. Under every node, the most frequent tokens are taken; of equally frequent ones,
the most recent. A path continues while its estimated probability is at least `least`, down to a
depth of `factor` times the suffix's length. Every suffix that occurred before is tried, and the
draft with the highest expected number of accepted guesses is used; if two drafts are equal, the
draft of the longer suffix is used. The estimated probability of a token is its count divided by the
total count of the tokens that followed the same string. (This follows the paper; Snowflake's code
also counts the end of the text, which no token follows yet.) Only this run's text is stored; the
paper's second tree, which holds outputs of other requests, is left out. The draft is a point mass:
the counts select the guesses, but verification does not use them.

`trace.suffixes` stores the counts and computes the draft, so that `check` can repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.drafters.common.base import Weightless
from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.suffixes import Suffixes, best_draft, describe_draft
from specviz.trace.work import Work
from specviz.verification.tree import DraftTree


class Suffix(Weightless):
    """The suffix drafter. It fits any target, has no weights and stores nothing between runs."""

    name = "suffix"

    def begin(self, target: TargetRun, settings: Settings) -> SuffixSession:
        """Implement `Drafter.begin`."""
        return SuffixSession(target.target, settings)


class SuffixSession(Session):
    """A session with the automaton of this run's text."""

    def __init__(self, target: Target, settings: Settings) -> None:
        super().__init__(target, settings)
        self.branches = settings.branches
        self.seen = Suffixes()

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Nodes are numbered level by level; the settings limit the number of siblings. A node's
        # score is the count of its token divided by the count of all tokens that followed the same
        # string. Recorded for each node: both counts, and the last position of the token after this
        # string. Recorded for the proposal: factor and least; if a suffix was found, its length,
        # where it last began, and how many guesses are expected to be accepted.
        self._read(context)
        best, end = best_draft(self.seen, max_tokens - 1, self.settings, self.target.eos)
        tree = DraftTree(tuple(best.tokens), tuple(best.parents))
        evidence = describe_draft(best, end, self.settings)
        return Proposal(tree, self.drawn, score=best.score, evidence=evidence, work=Work())

    def _read(self, context: Sequence[int]) -> None:
        known = len(self.seen.text)
        if self.seen.text != list(context[:known]):  # the context does not continue the last text
            self.seen, known = Suffixes(), 0
        self.seen.extend(context[known:])
