"""Blockwise parallel decoding: predict a block, verify it, accept its longest right beginning.

Stern's k is the target's own next token and k - 1 heads (1811.03115). Predict and verify are
merged: the pass that verifies a block leaves the state from which the next block is predicted, so
a round is one pass of the model. A chain of top tokens: a point mass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from specviz.drafters.cards import card_of
from specviz.drafters.medusa import NewestState
from specviz.drafters.rank_paths import RankPathSession
from specviz.heads.blockwise import BlockwiseHeads
from specviz.settings import Settings
from specviz.states import Taps
from specviz.target import Target, TargetRun
from specviz.trace import ModelCard


class Blockwise:
    """Heads in eval mode, trained on the one target."""

    name = "blockwise"
    taps = Taps(final=True)

    def __init__(self, heads: BlockwiseHeads, card: ModelCard) -> None:
        self.heads = heads
        self.card = card
        self.made_for = heads.config.made_for

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """The heads in `folder`, shown as `title`. Raises NotAvailable, Unsuitable."""
        heads = BlockwiseHeads.load(folder, target)
        return cls(heads, card_of(heads, title, cls.name, folder))

    def begin(self, target: TargetRun, settings: Settings) -> BlockSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = NewestState(self.heads, self.heads.heads, project, self.card.name)
        reader.remark = {"block": self.heads.config.block_size}
        return BlockSession(reader, target.target.eos, settings)


class BlockSession(RankPathSession):
    """The one path of top tokens, whatever siblings are asked for."""

    def _paths(self, depth: int) -> list[tuple[int, ...]]:
        return [(0,) * (d + 1) for d in range(depth)]
