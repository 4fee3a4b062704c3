"""Medusa: extra heads on the state that predicted the newest token guess the tokens after it.

The newest token x stands at n; its own state is not known yet, that of n - 1 is. The target's own
head made x of it, so head i, from 0, is read for the token n + 1 + i: no pass of any model, and no
head knows that x was drawn (2401.10774).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from torch import Tensor

from specviz.drafters.cards import card_of
from specviz.drafters.rank_paths import Ahead, RankPathSession
from specviz.heads.medusa import MedusaHeads
from specviz.heads.residual import Project
from specviz.settings import Settings
from specviz.states import States, Taps
from specviz.target import Target, TargetRun
from specviz.trace import ModelCard


class Medusa:
    """Heads in eval mode, trained on the one target."""

    name = "medusa"
    taps = Taps(final=True)

    def __init__(self, heads: MedusaHeads, card: ModelCard) -> None:
        self.heads = heads
        self.card = card
        self.made_for = heads.config.made_for

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """The heads in `folder`, shown as `title`. Raises NotAvailable, Unsuitable."""
        heads = MedusaHeads.load(folder, target)
        return cls(heads, card_of(heads, title, cls.name, folder))

    def begin(self, target: TargetRun, settings: Settings) -> RankPathSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = NewestState(self.heads, len(self.heads), project, self.card.name)
        return RankPathSession(reader, target.target.eos, settings)


class NewestState:
    """Keeps one row: the state that predicted the newest token. Blockwise heads read it too."""

    def __init__(self, heads: Any, most: int, project: Project, name: str) -> None:
        """heads: (h,) states and a projection to (heads, V); the first guesses two ahead."""
        self.heads = heads
        self.most = most
        self.project = project
        self.name = name
        self.remark: dict[str, Any] = {"heads": most}
        self.state: Tensor

    def ahead(self, newest: int, depth: int) -> Ahead:
        """See `Heads`. Evidence: the head, from 1, and the place in the text of what it read."""
        logits = self.heads(self.state, self.project, depth)
        return Ahead(logits, [{"head": i, "state": newest - 1} for i in range(1, depth + 1)])

    def commit(self, states: States) -> None:
        """See `Heads`."""
        assert states.final is not None
        self.state = states.final[-1]
