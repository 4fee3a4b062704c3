"""Parallel multi-token prediction: one layer for each future position, side by side on one trunk.

The layers attend to the trunk's output (the target's last layer but one) of every verified token.
The newest token stands at n; the newest row is n - 1, which predicted it, so head i, from 0, is
read there for the token n + 1 + i (2404.19737). All heads run at once, in one step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from specviz.cache import RoomyCache
from specviz.drafters.cards import card_of
from specviz.drafters.rank_paths import Ahead, RankPathSession
from specviz.heads.mtp_parallel import ParallelHeads
from specviz.heads.residual import Project
from specviz.settings import Settings
from specviz.states import States, Taps
from specviz.target import Target, TargetRun
from specviz.trace import ModelCard


class ParallelMTP:
    """Heads in eval mode, trained on the one target. layers: how many the target has."""

    name = "mtp-parallel"

    def __init__(self, heads: ParallelHeads, card: ModelCard, layers: int) -> None:
        self.heads = heads
        self.card = card
        self.made_for = heads.config.made_for
        self.taps = Taps(layers=(layers - 1,))

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """The heads in `folder`, shown as `title`. Raises NotAvailable, Unsuitable."""
        heads = ParallelHeads.load(folder, target)
        return cls(
            heads, card_of(heads, title, cls.name, folder), target.model.config.num_hidden_layers
        )

    def begin(self, target: TargetRun, settings: Settings) -> RankPathSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = TrunkRows(self.heads, self.taps.layers[0], project, self.card.name)
        return RankPathSession(reader, target.target.eos, settings)


class TrunkRows:
    """Every head's cache over the trunk's verified rows; new ones wait until heads are read."""

    def __init__(self, heads: ParallelHeads, layer: int, project: Project, name: str) -> None:
        self.heads = heads
        self.layer = layer
        self.project = project
        self.name = name
        self.most = len(heads.extra_heads)
        self.remark: dict[str, Any] = {"heads": self.most, "layer": layer}
        self.cache = RoomyCache()
        self.read = 0  # rows in the cache
        self.waiting: list[Tensor] = []

    def ahead(self, newest: int, depth: int) -> Ahead:
        """See `Heads`. All heads run, so that all caches hold the same rows."""
        rows = torch.cat(self.waiting)[None]
        features = self.heads.features(rows, self.read, self.cache)
        self.read += rows.shape[1]
        self.waiting = []
        logits = self.heads.logits(features[:depth, 0, -1], self.project)
        return Ahead(logits, [{"head": i, "state": newest - 1} for i in range(1, depth + 1)])

    def commit(self, states: States) -> None:
        """See `Heads`."""
        self.waiting.append(states.layers[self.layer])
