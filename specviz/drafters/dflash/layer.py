"""DFlash's layer: a block's rows attend to one another, both ways, and to what lies before them.

Rule: what lies before is fused states of the target, which every layer turns into keys and values
of its own with the projections that serve the block too; they ask no questions themselves.
"""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.kit.config import HeadConfig
from specviz.drafters.kit.layers import Mix, Mlp, Rotary, rotate

Past = tuple[Tensor, Tensor]  # one layer's keys and values before a block, (B, heads, n, d) each


class BlockAttention(nn.Module):
    """Qwen3's attention, keys and queries normed by head; who sees whom is the mix's to say."""

    def __init__(self, shape: HeadConfig) -> None:
        super().__init__()
        self.size, self.rotary = shape.head_dim, Rotary(shape)
        wide, inner, shared = (
            shape.hidden_size,
            shape.num_attention_heads * self.size,
            shape.num_key_value_heads * self.size,
        )
        self.q_proj = nn.Linear(wide, inner, bias=False)
        self.k_proj = nn.Linear(wide, shared, bias=False)
        self.v_proj = nn.Linear(wide, shared, bias=False)
        self.o_proj = nn.Linear(inner, wide, bias=False)
        self.q_norm = LlamaRMSNorm(self.size, shape.rms_norm_eps)
        self.k_norm = LlamaRMSNorm(self.size, shape.rms_norm_eps)

    def keys_values(self, rows: Tensor, positions: Tensor) -> Past:
        """Of rows (B, n, h) at positions (n,): (B, heads, n, d) twice, the keys rotated."""
        keys = self.k_norm(self._by_head(self.k_proj(rows)))
        turn = self.rotary(positions)
        return rotate(keys, turn), self._by_head(self.v_proj(rows))

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) to (B, n, h). positions: (n,). mix is given the rows' own keys and values."""
        queries = self.q_norm(self._by_head(self.q_proj(rows)))
        queries = rotate(queries, self.rotary(positions))
        mixed = mix(queries, *self.keys_values(rows, positions))
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out

    def _by_head(self, rows: Tensor) -> Tensor:
        heads: Tensor = rows.unflatten(-1, (-1, self.size)).transpose(1, 2)
        return heads


class BlockLayer(nn.Module):
    """A Llama layer around that attention."""

    def __init__(self, shape: HeadConfig) -> None:
        super().__init__()
        self.self_attn = BlockAttention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = LlamaRMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.post_attention_layernorm = LlamaRMSNorm(shape.hidden_size, shape.rms_norm_eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) to (B, n, h)."""
        rows = rows + self.self_attn(self.input_layernorm(rows), positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


def behind(past: Past) -> Mix:
    """A `Mix` for one block: every row sees all of the past and all of the block."""

    def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(
            queries,
            torch.cat([past[0], keys], dim=2),
            torch.cat([past[1], values], dim=2),
            enable_gqa=keys.shape[1] != queries.shape[1],
        )

    return mixed


def many_blocks(past: Past, anchors: Tensor) -> Mix:
    """A `Mix` for blocks that begin at `anchors` (A,) of a text whose whole past is given.

    Its rows are the blocks one after another, (B, heads, A n, d). A row sees the past before its
    block's anchor and its own block, as in `behind`, and no other block.
    """

    def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        groups = queries.shape[1] // keys.shape[1]
        old_keys, old_values, new_keys, new_values = (
            rows.repeat_interleave(groups, dim=1) for rows in (*past, keys, values)
        )
        blocks, length = (len(anchors), -1), old_keys.shape[2]
        later = torch.arange(length, device=anchors.device) >= anchors[:, None, None]
        before = (queries @ old_keys.mT).unflatten(2, blocks).masked_fill(later, -torch.inf)
        inside = queries.unflatten(2, blocks) @ new_keys.unflatten(2, blocks).mT
        scores = torch.cat([before, inside], dim=-1).float() * queries.shape[-1] ** -0.5
        shares = scores.softmax(-1).to(values.dtype)
        own = shares[..., length:] @ new_values.unflatten(2, blocks)
        out: Tensor = own.flatten(2, 3) + shares[..., :length].flatten(2, 3) @ old_values
        return out

    return mixed
