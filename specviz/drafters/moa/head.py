"""Mixture of Attentions (2410.03804): a head that reads the keys and values of all target layers.

Layer self-attention: the L layers of one token are a sequence, each layer's keys and values side by
side its row; they attend to one another, their mean goes through Ekv2E, and that is the memory of
the token. Self-attention: a block over the tokens' embeddings, guesses included. Cross-attention: a
block whose queries are those rows and whose keys and values come of the memory alone. Its output
goes straight to the target's own projection: no norm between them.

The memory is fixed while a try is drafted: guesses add queries and rows of self-attention, never
memory. A guess has no keys and values in the target yet, and here nothing stands in for them.

Layout and names are those of the public code (huawei-noah/HEBO, branch mixture-of-attentions,
MOASpec), as are these: keys come as a cache has them, rotated for their place in the text, which is
not undone; of each key-value head its key, then its value; rotary positions over layers count from
0; one norm serves queries and memory. The public tensors themselves could not be looked at here.
Left out: target layer inference (a config that asks for it is refused).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.drafters.kit import checkpoint
from specviz.drafters.kit.layers import Attention, Layer, Mix, rotate
from specviz.drafters.kit.layouts.table import read_head
from specviz.drafters.moa.config import MoaConfig
from specviz.models.products import Group
from specviz.models.target import Target

Remembered = tuple[Tensor, Tensor]  # cross-attention's keys, rotated, and values: (B, heads, m, d)


class CrossAttention(Attention):
    """Llama's attention, whose keys and values come of other rows than its queries."""

    def product_groups(self) -> list[Group]:
        """Implement `FusedPart`: keys and values are of other rows than queries."""
        return []

    def remember(self, memory: Tensor, positions: Tensor) -> Remembered:
        """Keys and values of normed memory (B, m, h). positions: (m,), in the text."""
        keys, values = (
            made.unflatten(-1, (-1, self.size)).transpose(1, 2)
            for made in (self.k_proj(memory), self.v_proj(memory))
        )
        return rotate(keys, self.rotary(positions)), values

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Normed rows (B, n, h) to (B, n, h). mix: see `recall`; it is given queries only."""
        queries = self.q_proj(rows).unflatten(-1, (-1, self.size)).transpose(1, 2)
        none = queries[:, :, :0]
        mixed = mix(rotate(queries, self.rotary(positions)), none, none)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out


class MoaHead(nn.Module):
    """Three blocks and a linear map. Names as in the public checkpoints.

    Embeddings and projection are the target's.
    """

    def __init__(self, config: MoaConfig) -> None:
        super().__init__()
        self.config = config
        self.layer_self_attention = Layer(config.block("layer_self_attention"))
        self.Ekv2E = nn.Linear(config.kv_hidden_size, config.hidden_size)
        self.self_attention = Layer(config.block("self_attention"))
        self.cross_attention = Layer(config.block("cross_attention"), CrossAttention)

    def memory(self, layers: Tensor) -> Tensor:
        """The target's keys and values (..., L, w), see `beside`, to memory (..., h)."""
        places = torch.arange(layers.shape[-2], device=layers.device)
        rows = layers.flatten(0, -3)
        mixed = self.layer_self_attention(rows, places, everyone).mean(-2)
        out: Tensor = self.Ekv2E(mixed)
        return out.view(*layers.shape[:-2], -1)

    def remember(self, layers: Tensor, positions: Tensor) -> Remembered:
        """The target's keys and values (B, m, L, w) of tokens at `positions`, to be asked later."""
        block = self.cross_attention
        assert isinstance(block.self_attn, CrossAttention)
        return block.self_attn.remember(block.input_layernorm(self.memory(layers)), positions)

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16. See `load`."""
        checkpoint.write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The head in `folder`, on the target's device, in its dtype, ready to draft.

        Raises NotAvailable or Unsuitable with a sentence; a tensor that does not fit is named.
        """
        found = read_head(folder, "moa")
        config = MoaConfig.read(found.name, found.config)
        config.check_fit(found.name, target)
        head = cls(config)
        checkpoint.restore(found.name, head, found.tensors, target.model)
        return head


def beside(layers: Mapping[int, tuple[Tensor, Tensor]]) -> Tensor:
    """Keys and values by layer, (..., heads, d) each, to (..., L, w), the first layer first."""
    return torch.stack([torch.cat(layers[k], dim=-1).flatten(-2) for k in sorted(layers)], dim=-2)


def everyone(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """A `Mix` for layers: every row sees every row."""
    shared = keys.shape[1] != queries.shape[1]
    return functional.scaled_dot_product_attention(queries, keys, values, enable_gqa=shared)


def recall(remembered: Remembered, sees: Tensor | None = None) -> Mix:
    """A `Mix` that asks the memory. sees: (n, m) bool, what each query sees of it; None for all."""
    keys, values = remembered

    def mixed(queries: Tensor, _keys: Tensor, _values: Tensor) -> Tensor:
        shared = keys.shape[1] != queries.shape[1]
        return functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=sees, enable_gqa=shared
        )

    return mixed
