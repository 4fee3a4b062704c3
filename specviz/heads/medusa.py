"""Medusa's heads (2401.10774): head i, from 0, reads the state at t and guesses token t + 2 + i.

The target's own head has t + 1. Tensors are named as in FasterDecoding's `medusa_lm_head.pt`:
`{i}.{j}.linear.*`, block j of head i, and `{i}.{layers}.weight`, its output projection. TGI's
layout leaves the latter out: all heads end in the target's projection. Both are read here.
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
class MedusaConfig:
    """config.json. made_for: SHA-256 of the one target's weights; public heads do not say it."""

    medusa_num_heads: int = 4
    medusa_num_layers: int = 1
    base_model_name_or_path: str = ""
    made_for: str | None = None


class ResBlock(nn.Module):
    """x + SiLU(W x + b)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = linear_at_zero(width)

    def forward(self, x: Tensor) -> Tensor:
        """(…, h) to (…, h)."""
        return residual(self.linear, x)


class MedusaHeads(nn.ModuleList):
    """The heads of one target. vocabulary: None where they share the target's projection."""

    def __init__(self, config: MedusaConfig, width: int, vocabulary: int | None) -> None:
        super().__init__()
        self.config = config
        self.own = vocabulary is not None
        for _ in range(config.medusa_num_heads):
            head = nn.Sequential(*(ResBlock(width) for _ in range(config.medusa_num_layers)))
            if vocabulary is not None:
                head.append(nn.Linear(width, vocabulary, bias=False))
            self.append(head)

    def forward(self, states: Tensor, project: Project, many: int | None = None) -> Tensor:
        """Logits of the first `many` heads, or all: (…, h) to (heads, …, V)."""
        return side_by_side([*self][:many], states, None if self.own else project)

    @classmethod
    def new(cls, config: MedusaConfig, model: Any) -> Self:
        """Untrained heads for a causal LM, ending in its projection."""
        return cls(config, layout.sizes(model)[0], None)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """See `read`."""
        return cls.read(folder, target.model)

    @classmethod
    def read(cls, folder: Path, model: Any) -> Self:
        """The heads in `folder` for this causal LM, frozen. Raises NotAvailable, Unsuitable.

        The file says how many heads there are: some public configs say too few.
        """
        config = layout.config_in(folder, MedusaConfig)
        tensors = layout.tensors_in(folder, "medusa_lm_head.safetensors", "medusa_lm_head.pt")
        config = replace(config, medusa_num_heads=layout.numbered(tensors))
        width, vocabulary = layout.sizes(model)
        own = f"0.{config.medusa_num_layers}.weight" in tensors
        heads = cls(config, width, vocabulary if own else None)
        files.fill(folder.name, heads, tensors)
        layout.place(heads, model)
        return heads

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        layout.write(folder, self.config, self)
