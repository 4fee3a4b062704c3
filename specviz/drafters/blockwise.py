"""Blockwise parallel decoding (1811.03115): predict a block, verify it, accept a prefix.

In Stern (2018), a block of k is the target's own next token and k - 1 guesses. The pass that
verifies a block also computes the hidden state from which the next block is predicted, so a round
is one pass of the target. The draft is a chain of top tokens, so q is a point mass.

One feed-forward layer computes k - 1 vectors from the state at position t. Each is added to the
state and projected by the target's own output head, to predict the tokens t + 2 … t + k; the
target's own head predicts t + 1. The paper trains the layer together with the trunk; here the trunk
is frozen (section 6 of the paper). No checkpoint for a modern model was published. The code is a
port of tensor2tensor's `dense_relu_dense` and keeps the names of its tensors (conv1, conv2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from torch import Tensor, nn

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import PlainConfig, SizedHead
from specviz.drafters.common.config_keys import DECODER
from specviz.drafters.common.layers import Project
from specviz.drafters.common.training import Family, TargetOutputs, future_loss, weighted
from specviz.drafters.medusa import NewestStateSession
from specviz.models.target import Target
from specviz.settings.settings import Settings


@dataclass(frozen=True)
class BlockwiseConfig(PlainConfig):
    """Contents of config.json.

    Attributes:
        block_size: Stern's k.
        filter_size: Hidden units of each of the k - 1 heads.
        made_for: SHA-256 of the target's weights.
    """

    also: ClassVar[Collection[str]] = DECODER

    block_size: int = 4
    filter_size: int = 256
    made_for: str | None = None


class BlockwiseHeads(SizedHead):
    """k - 1 heads that share one hidden layer."""

    family = "blockwise"
    config_type = BlockwiseConfig
    config: BlockwiseConfig

    def __init__(self, config: BlockwiseConfig, width: int) -> None:
        super().__init__()
        self.config = config
        self.heads = config.block_size - 1
        self.conv1 = nn.Linear(width, self.heads * config.filter_size)
        self.conv2 = nn.Linear(self.heads * config.filter_size, self.heads * width)
        nn.init.zeros_(self.conv2.weight)  # an untrained head repeats the target's own prediction
        nn.init.zeros_(self.conv2.bias)

    def forward(self, states: Tensor, project: Project, count: int | None = None) -> Tensor:
        """Return logits (heads, …, V) of the first `count` heads (None: all) for states (…, h)."""
        added = self.conv2(nn.functional.relu(self.conv1(states)))
        out = states[..., None, :] + added.unflatten(-1, (self.heads, -1))
        return project(out.movedim(-2, 0)[:count])

    def rows(self, count: int) -> int:
        """Return how many rows `count` heads compute per state: one, since they share a layer."""
        return 1


class Blockwise(HeadDrafter):
    """The drafter of blockwise heads, in eval mode, trained for one target."""

    name = "blockwise"
    network = BlockwiseHeads
    head: BlockwiseHeads

    def session(self, target: Target, settings: Settings) -> BlockSession:
        """Implement `HeadDrafter.session`."""
        return BlockSession(self, target, settings)


class BlockSession(NewestStateSession):
    """A session that always drafts one chain of top tokens and ignores the settings of siblings."""

    def __init__(self, drafter: Blockwise, target: Target, settings: Settings) -> None:
        super().__init__(drafter, drafter.head.heads, target, settings)
        self.remark = {"form": "heads", "block": drafter.head.config.block_size}

    def _paths(self, depth: int) -> list[tuple[int, ...]]:
        return [(0,) * (d + 1) for d in range(depth)]


def loss(head: BlockwiseHeads, outputs: TargetOutputs) -> Tensor:
    """Return the mean loss over heads (the paper: a random one); head i predicts t + 2 + i."""
    return weighted(
        [future_loss(row, outputs, 2 + i) for i, row in enumerate(guesses(head, outputs))]
    )


def guesses(head: BlockwiseHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Return each head's logits (B, T, V), by depth; the input of `overlaps`."""
    return list(head(outputs.final, outputs.head))


def build(target: Target, _counts: Tensor) -> BlockwiseHeads:
    """Build new heads for this target."""
    config = BlockwiseConfig(made_for=target.card.hash)
    return BlockwiseHeads.new(config, target.model)


TRAINING: Final = Family("blockwise", build, loss, guesses)
