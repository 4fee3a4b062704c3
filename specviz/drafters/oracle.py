"""The target drafts for itself: every guess is right, and nothing is gained.

The upper end of α: sampled guesses come from p itself, so q = p, up to the rounding of passes of
unlike shapes. It really runs the target once a level, with a cache of its own beside that of the
run, so a round costs γ full passes before the one that checks them. (Hugging Face's assisted
generation is taught from such an oracle, and from wishing that it were free.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from specviz.drafters.draft_model import DraftModel, DraftModelSession
from specviz.engine.protocol import Proposal
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings


class Oracle(DraftModel):
    """A draft model whose weights are the target's: shared, no copy. The card says what it runs."""

    name = "oracle"

    def __init__(self, target: Target) -> None:
        super().__init__(target.model, replace(target.card, name=self.name, family=self.name))
        self.made_for = target.card.hash

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """The drafter of this target; it has no weights of its own. See `Drafter`."""
        return cls(target)

    def begin(self, target: TargetRun, settings: Settings) -> OracleSession:
        """See `Drafter`. Raises ValueError for a run of any model but its own."""
        if target.target.model is not self.model:
            raise ValueError(
                "The oracle is the target itself, and this one was made of another model than "
                f"{target.target.card.name}."
            )
        return OracleSession(self, target, settings)


class OracleSession(DraftModelSession):
    """Drafts as a draft model does, and says how many target passes that took."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Evidence on the whole try: the full passes spent, one a level."""
        proposal = super().propose(context, max_tokens, chance)
        passes = max(proposal.tree.depths)
        remark = {"form": "upper-bound", "passes": passes}
        return replace(proposal, evidence={0: remark} if passes else {})
