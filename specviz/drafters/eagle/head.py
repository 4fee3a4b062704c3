"""EAGLE's head (2401.15077; EAGLE-2, 2406.16858, uses the same): it guesses the target's features.

A feature is the target's state after its final norm. Row t pairs feature f_t with the embedding of
token t + 1 and guesses f_{t+1}; the target's own output head makes of that the law of token t + 2.
The layer has no norm before its attention, and its output is a feature as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.kit.checkpoint import restore, write
from specviz.drafters.kit.config import HeadConfig
from specviz.drafters.kit.layers import Attention, Mix, Mlp, weight_of
from specviz.drafters.kit.layouts.table import read_head
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm
from specviz.models.products import Array, FastLinear
from specviz.models.target import Target


@dataclass(frozen=True)
class EagleConfig(HeadConfig):
    """bias: whether fc has one; public configs that do not say have it."""

    bias: bool = True


class EagleLayer(nn.Module):
    """A Llama layer that lacks the norm before its attention."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config, config.hidden_size)
        self.mlp = Mlp(config)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) to (B, n, h)."""
        rows = rows + self.self_attn(rows, positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


class EagleHead(nn.Module):
    """fc and one layer. Names as in the public checkpoints.

    embed_tokens: the file's own embedding; None, as in house files, where the target's serves.
    """

    def __init__(self, config: EagleConfig, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide = config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, wide) if own_embedding else None
        self.fc = nn.Linear(2 * wide, wide, bias=config.bias)
        self.layers = nn.ModuleList([EagleLayer(config)])

    def forward(self, features: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Features f_t and embeddings of the tokens t + 1, (B, n, h) each, to guesses of f_{t+1}.

        positions: (n,), of the rows t; for a guess, that of its parent plus one.
        """
        rows = self.fc(torch.cat([words, features], dim=-1))
        for layer in self.layers:
            rows = layer(rows, positions, mix)
        out: Tensor = rows
        return out

    def compute(
        self, states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
    ) -> Array:
        """Implement `NumpyHead.compute`."""
        assert isinstance(self.fc, FastLinear)
        rows, eps = self.fc.product(np.concatenate([words, states], 1)), self.config.rms_norm_eps
        for i, layer in enumerate(cast(Sequence[EagleLayer], self.layers)):
            attention, mlp = layer.self_attn.fast, layer.mlp.fast
            assert attention is not None
            assert mlp is not None
            rows = rows + attention(rows, turn, sees, cache, i)
            rows = rows + mlp(rms_norm(rows, weight_of(layer.post_attention_layernorm), eps))
        return rows

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [layer.self_attn for layer in cast(Sequence[EagleLayer], self.layers)]

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16. See `load`."""
        write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The head in `folder`, on the target's device, in its dtype, ready to draft.

        Raises NotAvailable or Unsuitable with a sentence; a tensor that does not fit is named.
        """
        found = read_head(folder, "eagle")
        config = EagleConfig.from_json(found.name, found.config)
        config.check_fit(found.name, target)
        head = cls(config, own_embedding="embed_tokens.weight" in found.tensors)
        restore(found.name, head, found.tensors, target.model)
        return head
