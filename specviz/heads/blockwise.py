"""The heads of blockwise parallel decoding (Stern 2018, 1811.03115).

One feed-forward layer makes k - 1 vectors of the state at t, each added to the state and read by
the target's own projection: they guess the tokens t + 2 … t + k, after the target's own t + 1.
Trained there together with the trunk; here on a frozen one. No modern checkpoint exists; tensors
are named as in tensor2tensor's `dense_relu_dense` (conv1, conv2), of which this is a port.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from specviz.heads import files, layout
from specviz.heads.residual import Project
from specviz.target import Target


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

    @classmethod
    def new(cls, config: BlockwiseConfig, model: Any) -> Self:
        """Untrained heads for a causal LM."""
        return cls(config, layout.sizes(model)[0])

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """See `read`."""
        return cls.read(folder, target.model)

    @classmethod
    def read(cls, folder: Path, model: Any) -> Self:
        """The heads in `folder` for this causal LM, frozen. Raises NotAvailable, Unsuitable."""
        heads = cls.new(layout.config_in(folder, BlockwiseConfig), model)
        files.fill(folder.name, heads, layout.tensors_in(folder))
        layout.place(heads, model)
        return heads

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        layout.write(folder, self.config, self)
