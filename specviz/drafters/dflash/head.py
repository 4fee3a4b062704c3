"""DFlash's drafter (2602.06036): one non-causal pass fills a block of masks.

A block is the newest token and masks after it. Every layer's keys and values begin with the
target's states of the tokens before, fused by fc and normed; within the block all see all. A
mask's output, by the target's own projection, is a guess of the token at its place. Embeddings
and projection are the target's, so the file has neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.layer import BlockLayer, Past
from specviz.drafters.kit.checkpoint import restore, write
from specviz.drafters.kit.layers import Mix
from specviz.drafters.kit.layouts.table import read_head
from specviz.models.target import Target


class DFlashHead(nn.Module):
    """fc, hidden_norm, layers and norm, named as in the public checkpoints."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.config = config
        wide, eps = config.hidden_size, config.rms_norm_eps
        self.fc = nn.Linear(len(config.target_layer_ids) * wide, wide, bias=False)
        self.hidden_norm = LlamaRMSNorm(wide, eps)
        self.layers = nn.ModuleList(BlockLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = LlamaRMSNorm(wide, eps)

    def past(
        self, states: Mapping[int, Tensor] | Sequence[Tensor], positions: Tensor
    ) -> list[Past]:
        """By layer of this head, keys and values of the target's states.

        states: by the target's layer, from 1, (B, n, h) each. positions: (n,), of their tokens.
        """
        taps = [states[k] for k in self.config.tap_layers]
        fused = self.hidden_norm(self.fc(torch.cat(taps, dim=-1)))
        return [layer.self_attn.keys_values(fused, positions) for layer in self._layers()]

    def block(self, anchors: Tensor) -> Tensor:
        """Ids (…, block_size): each anchor (…), then masks."""
        masks = anchors.new_full(
            (*anchors.shape, self.config.block_size), self.config.mask_token_id
        )
        masks[..., 0] = anchors
        return masks

    def forward(self, words: Tensor, positions: Tensor, mixes: Sequence[Mix]) -> Tensor:
        """Embeddings of blocks (B, n, h) at positions (n,) to what the target's projection reads.

        mixes: by layer; each knows that layer's past.
        """
        for layer, mix in zip(self._layers(), mixes, strict=True):
            words = layer(words, positions, mix)
        out: Tensor = self.norm(words)
        return out

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16. See `load`."""
        write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The head in `folder`, on the target's device, in its dtype, ready to draft.

        Raises NotAvailable or Unsuitable with a sentence; a tensor that does not fit is named.
        """
        found = read_head(folder, "dflash")
        config = DFlashConfig.from_json(found.name, found.config)
        config.check_fit(found.name, target)
        head = cls(config)
        restore(found.name, head, found.tensors, target.model)
        return head

    def _layers(self) -> list[BlockLayer]:
        return [layer for layer in self.layers if isinstance(layer, BlockLayer)]
