"""L-MTP's leaping heads (2505.17505): head m, from 1, reads t and guesses the token t + k m + 1.

With leap k = 2: t + 3, t + 5, … (the target's own head has t + 1). The gaps are filled by looking
backward: from the state before, the same heads have guessed t + 2, t + 4, …. Medusa's network by
other names: `heads.{i}.resblock.{j}.l_proj.*` and `heads.{i}.lm_head.weight`; where the latter is
left out, all heads end in the target's projection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from specviz.heads import files, layout
from specviz.heads.residual import Project, linear_at_zero, residual, side_by_side
from specviz.target import Target


@dataclass(frozen=True)
class LeapConfig:
    """config.json. skip_token: the leap k. model_name: the target's. made_for: its SHA-256.

    The public code overwrites skip_token with 3 but looks one state back only, which fits 2.
    """

    n_head: int = 3
    head_num_layers: int = 1
    skip_token: int = 2
    head_type: str = "lmtp"
    model_name: str = ""
    made_for: str | None = None


class LeapBlock(nn.Module):
    """x + SiLU(W x + b)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.l_proj = linear_at_zero(width)

    def forward(self, x: Tensor) -> Tensor:
        """(…, h) to (…, h)."""
        return residual(self.l_proj, x)


class LeapHead(nn.Module):
    """Blocks and, unless the target's is shared, a projection."""

    def __init__(self, layers: int, width: int, vocabulary: int | None) -> None:
        super().__init__()
        self.resblock = nn.Sequential(*(LeapBlock(width) for _ in range(layers)))
        self.lm_head = None if vocabulary is None else nn.Linear(width, vocabulary, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """(…, h) to (…, V), or to (…, h) for the target's projection."""
        out: Tensor = self.resblock(states)
        return out if self.lm_head is None else self.lm_head(out)


class LeapHeads(nn.Module):
    """The heads of one target. vocabulary: None where they share the target's projection."""

    def __init__(self, config: LeapConfig, width: int, vocabulary: int | None) -> None:
        super().__init__()
        self.config = config
        self.own = vocabulary is not None
        layers = config.head_num_layers
        self.heads = nn.ModuleList(
            LeapHead(layers, width, vocabulary) for _ in range(config.n_head)
        )

    def forward(self, states: Tensor, project: Project, many: int | None = None) -> Tensor:
        """Logits of the first `many` heads, or all: (…, h) to (heads, …, V)."""
        return side_by_side([*self.heads][:many], states, None if self.own else project)

    @classmethod
    def new(cls, config: LeapConfig, model: Any) -> Self:
        """Untrained heads for a causal LM, ending in its projection."""
        return cls(config, layout.sizes(model)[0], None)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """See `read`."""
        return cls.read(folder, target.model)

    @classmethod
    def read(cls, folder: Path, model: Any) -> Self:
        """The heads in `folder` for this causal LM, frozen. Raises NotAvailable, Unsuitable."""
        config = layout.config_in(folder, LeapConfig)
        tensors = layout.tensors_in(folder, "heads.safetensors")
        config = replace(config, n_head=layout.numbered(tensors, "heads."))
        width, vocabulary = layout.sizes(model)
        own = "heads.0.lm_head.weight" in tensors
        heads = cls(config, width, vocabulary if own else None)
        files.fill(folder.name, heads, tensors)
        layout.place(heads, model)
        return heads

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        layout.write(folder, self.config, self)
