"""Blockwise parallel decoding: predict a block, verify it, accept its longest right beginning.

Stern's k is the target's own next token and k - 1 heads (1811.03115). Predict and verify are
merged: the pass that verifies a block leaves the state from which the next block is predicted, so
a round is one pass of the model. A chain of top tokens: a point mass.

Stern 2018, 1811.03115: one feed-forward layer makes k - 1 vectors of the state at t, each added to
the state and read by the target's own projection: they guess the tokens t + 2 … t + k, after the
target's own t + 1. Trained there together with the trunk; here on a frozen one (section 6). No
modern checkpoint exists; tensors are named as in tensor2tensor's `dense_relu_dense` (conv1, conv2),
of which this is a port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from torch import Tensor, nn

from specviz.drafters.kit import checkpoint
from specviz.drafters.kit.base import HeadDrafter
from specviz.drafters.kit.layers import Project
from specviz.drafters.kit.layouts.table import read_head
from specviz.drafters.kit.rank_paths import RankPathSession
from specviz.drafters.kit.training import Family, TargetOutputs, future_loss, weighted
from specviz.drafters.medusa import NewestState
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal, matrices
from specviz.settings.settings import Settings
from specviz.trace.work import Weights


@dataclass(frozen=True)
class BlockwiseConfig:
    """config.json. block_size: k. filter_size: hidden units for each of the k - 1 heads."""

    block_size: int = 4
    filter_size: int = 256
    made_for: str | None = None


class BlockwiseHeads(nn.Module):
    """k - 1 heads that share their hidden units."""

    def __init__(self, config: BlockwiseConfig, width: int) -> None:
        super().__init__()
        self.config = config
        self.heads = config.block_size - 1
        self.conv1 = nn.Linear(width, self.heads * config.filter_size)
        self.conv2 = nn.Linear(self.heads * config.filter_size, self.heads * width)
        nn.init.zeros_(self.conv2.weight)  # an untrained head repeats the target's own guess
        nn.init.zeros_(self.conv2.bias)

    def forward(self, states: Tensor, project: Project, many: int | None = None) -> Tensor:
        """Logits of the first `many` heads, or all: (…, h) to (heads, …, V)."""
        added = self.conv2(nn.functional.relu(self.conv1(states)))
        out = states[..., None, :] + added.unflatten(-1, (self.heads, -1))
        return project(out.movedim(-2, 0)[:many])

    def rows(self, many: int) -> int:
        """How many rows of them `many` heads read of one state: one, that of their hidden units."""
        return 1

    @classmethod
    def new(cls, config: BlockwiseConfig, model: Any) -> Self:
        """Untrained heads for a causal LM."""
        return cls(config, checkpoint.sizes(model)[0])

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The heads in `folder` for this target, frozen. Raises NotAvailable, Unsuitable."""
        found = read_head(folder, "blockwise")
        heads = cls.new(checkpoint.parsed(found.name, found.config, BlockwiseConfig), target.model)
        checkpoint.restore(found.name, heads, found.tensors, target.model)
        return heads

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        checkpoint.write(folder, asdict(self.config), self)


class Blockwise(HeadDrafter):
    """Heads in eval mode, trained on the one target."""

    name = "blockwise"
    network = BlockwiseHeads
    head: BlockwiseHeads

    def begin(self, target: TargetRun, settings: Settings) -> BlockSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = NewestState(self.head, self.head.heads, project, self.card.name)
        reader.remark = {"form": "heads", "block": self.head.config.block_size}
        return BlockSession(reader, target.target.eos, settings)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. All heads together; the output head is the target's."""
        return Weights(matrices(self.head), causal(target.model).head)


class BlockSession(RankPathSession):
    """The one path of top tokens, whatever siblings are asked for."""

    def _paths(self, depth: int) -> list[tuple[int, ...]]:
        return [(0,) * (d + 1) for d in range(depth)]


def loss(head: BlockwiseHeads, outputs: TargetOutputs) -> Tensor:
    """The mean over heads (the paper takes one at random a step); head i, from 0, has t + 2 + i."""
    return weighted(
        [future_loss(row, outputs, 2 + i) for i, row in enumerate(guesses(head, outputs))]
    )


def guesses(head: BlockwiseHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py."""
    return list(head(outputs.final, outputs.head))


def build(target: Target, _counts: Tensor) -> BlockwiseHeads:
    """New heads for this target."""
    return BlockwiseHeads.new(BlockwiseConfig(made_for=target.card.hash), target.model)


TRAINING: Final = Family("blockwise", build, loss, guesses)
