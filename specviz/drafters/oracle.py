"""The target drafts for itself: every guess is accepted, and no time is gained.

This is the upper limit of α: sampled guesses come from p itself, so q = p up to the rounding of
passes of different shapes. The target is run once per level, with a second cache, so a round costs
γ full passes before the pass that verifies them. (Hugging Face's blog post on assisted generation
starts from such an oracle, but assumes that it takes no time.)
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
    """A draft model that shares the target's weights."""

    name = "oracle"

    def __init__(self, target: Target) -> None:
        super().__init__(target.model, replace(target.card, name=self.name, family=self.name))
        self.made_for = target.card.hash

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """Return the oracle of this target. See `HeadDrafter.load`."""
        return cls(target)

    def begin(self, target: TargetRun, settings: Settings) -> OracleSession:
        """Implement `Drafter.begin`."""
        # Raises ValueError if the run belongs to another model.
        if target.target.model is not self.model:
            raise ValueError(
                "The oracle drafts with the target itself, and this one was made for another model "
                f"than {target.target.card.name}."
            )
        return OracleSession(self, target, settings)


class OracleSession(DraftModelSession):
    """A session of a draft model that also reports how many target passes drafting took."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Recorded for the proposal: the full target passes that drafting took, one per level.
        proposal = super().propose(context, max_tokens, chance)
        passes = max(proposal.tree.depths)
        remark = {"form": "upper-bound", "passes": passes}
        return replace(proposal, evidence={0: remark} if passes else {})
