"""Layers of small heads: attention with rotary positions, MLP, and attention masks.

A `Mix` decides which rows an attention layer attends to: those of a causal text, of a tree over a
cache, or of the unrolled steps of training.

The module also has helpers for running Llama's decoder blocks outside a model. Their mask is always
explicit, since the default mask is wrong for new rows after cached ones. The last part is shared by
Medusa and L-MTP: heads that map one state to different future positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from transformers import LlamaConfig

from specviz.adapters.transformers import LlamaRMSNorm, block_config, scaled_frequencies
from specviz.drafters.common.config import HeadConfig
from specviz.models.numpy_layers import NumpyAttention, NumpyMlp
from specviz.models.products import Group, Product


def llama_config(
    width: int, inner: int, heads: int, kv_heads: int, rope_theta: float, eps: float
) -> LlamaConfig:
    """Return a Llama config in which the attention heads divide the width evenly."""
    return block_config(
        hidden_size=width,
        intermediate_size=inner,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=width // heads,
        rms_norm_eps=eps,
        rope_parameters={"rope_type": "default", "rope_theta": rope_theta},
    )


def causal_mask(rows: int, past: int, like: Tensor) -> Tensor:
    """Return an additive causal mask (1, 1, rows, past + rows) for rows after `past` others."""
    mask = torch.full((rows, rows), torch.finfo(like.dtype).min, device=like.device).triu(1)
    return torch.nn.functional.pad(mask, (past, 0)).to(like.dtype)[None, None]


def own_rows_mask(rows: int, blocks: int, like: Tensor) -> Tensor:
    """Return an additive mask (1, 1, rows, (1 + blocks) rows) for rows that read their own outputs.

    Row i attends to rows 0 to i of the first block, and to row i alone of every later block, which
    is its own output of an earlier step. The last block holds the new rows.
    """
    least = torch.finfo(like.dtype).min
    first = torch.full((rows, rows), least, device=like.device).triu(1)
    own = torch.full((rows, rows), least, device=like.device).fill_diagonal_(0.0)
    return torch.cat([first, *[own] * blocks], dim=1).to(like.dtype)[None, None]


Project = Callable[[Tensor], Tensor]  # the target's output projection: maps (…, h) to (…, V)


Embed = Callable[[Tensor], Tensor]  # the target's embeddings: map ids (…) to (…, h)


class OwnEmbedding(nn.Embedding):
    """A drafter's own table of embeddings, which may have fewer rows than the target's.

    Targets pad their vocabulary differently, also within one family. Should the target emit a token
    beyond the table, the last row is read for it; only the guesses depend on that.
    """

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids (…) to embeddings (…, h)."""
        return super().forward(ids.clamp(max=self.num_embeddings - 1))


def linear_at_zero(width: int) -> nn.Linear:
    """Return a square layer of zeros, so that an untrained head repeats the target's prediction."""
    layer = nn.Linear(width, width)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def residual(layer: nn.Module, x: Tensor) -> Tensor:
    """Return x + SiLU(layer(x)), shape (…, h)."""
    return x + nn.functional.silu(layer(x))


def side_by_side(heads: Sequence[nn.Module], states: Tensor, project: Project | None) -> Tensor:
    """Return the logits (heads, …, V) of several heads on the same states (…, h)."""
    out = torch.stack([head(states) for head in heads])
    return out if project is None else project(out)


Mix = Callable[
    [Tensor, Tensor, Tensor], Tensor
]  # maps queries, keys and values to the attention's output; see `Attention.forward`


Turns = tuple[Tensor, Tensor]  # cosines and sines of rotary angles, (n, d) each, float32


Past = tuple[Tensor, Tensor]  # rotated keys of earlier rows, and values, (B, heads, n, d) each


class Attention(nn.Module):
    """Llama's attention on rows of any width; Qwen3's if the config has norms per head."""

    fast: NumpyAttention | None = None  # set by `use`

    def __init__(self, shape: HeadConfig, width: int) -> None:
        super().__init__()
        self.size, self.rotary, self.shape = shape.head_dim, Rotary(shape), shape
        inner, shared = shape.num_attention_heads, shape.num_key_value_heads
        self.q_proj = nn.Linear(width, inner * self.size, bias="q_proj" in shape.biases)
        self.k_proj = nn.Linear(width, shared * self.size, bias="k_proj" in shape.biases)
        self.v_proj = nn.Linear(width, shared * self.size, bias="v_proj" in shape.biases)
        self.o_proj = nn.Linear(inner * self.size, shape.hidden_size, bias="o_proj" in shape.biases)
        if shape.head_norms:
            self.q_norm = LlamaRMSNorm(self.size, shape.rms_norm_eps)
            self.k_norm = LlamaRMSNorm(self.size, shape.rms_norm_eps)
        self.normed = shape.head_norms

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map rows (B, n, width) to (B, n, h).

        Args:
            rows: The new rows.
            positions: Their positions, (n,).
            mix: Computes the attention: maps queries (B, heads, n, d) and the new rows' rotated
                keys and values, possibly with fewer heads, to (B, heads, n, d).
        """
        fast = None if torch.is_grad_enabled() else self.fast
        queries, keys, values = map(self._by_head, self._project(rows, fast))
        if self.normed:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        turn = self.rotary(positions)
        mixed = mix(rotate(queries, turn), rotate(keys, turn), values).transpose(1, 2).flatten(2)
        out: Tensor = fast.output.multiply_tensor(mixed) if fast else self.o_proj(mixed)
        return out

    def keys_values(self, rows: Tensor, positions: Tensor) -> Past:
        """Return keys and values of rows (B, n, width) at positions (n,), without queries."""
        keys, values = self._by_head(self.k_proj(rows)), self._by_head(self.v_proj(rows))
        if self.normed:
            keys = self.k_norm(keys)
        return rotate(keys, self.rotary(positions)), values

    def _by_head(self, rows: Tensor) -> Tensor:
        heads: Tensor = rows.unflatten(-1, (-1, self.size)).transpose(1, 2)
        return heads

    def _project(self, rows: Tensor, fast: NumpyAttention | None) -> Sequence[Tensor]:
        # (B, n, heads * d) each.
        if fast is None:
            return self.q_proj(rows), self.k_proj(rows), self.v_proj(rows)
        shared = self.shape.num_key_value_heads * self.size
        widths = [self.shape.num_attention_heads * self.size, shared, shared]
        parts: Sequence[Tensor] = fast.qkv.multiply_tensor(rows).split(widths, dim=-1)
        return parts

    def product_groups(self) -> list[Group]:
        """Implement `FusedPart`."""
        return [[self.q_proj, self.k_proj, self.v_proj], [self.o_proj]]

    def use(self, products: Sequence[Product]) -> None:
        """Implement `FusedPart`."""
        self.fast = NumpyAttention.of(self, self.shape, self.size, *products)


class SplitAttention(Attention):
    """Attention with separate products, since it also computes keys and values of other rows."""

    def product_groups(self) -> list[Group]:
        """Implement `FusedPart`: none."""
        return []


class Mlp(nn.Module):
    """Llama's gated MLP."""

    fast: NumpyMlp | None = None  # set by `use`

    def __init__(self, shape: HeadConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., h) to (..., h)."""
        if self.fast is not None and not torch.is_grad_enabled():
            flat = rows.reshape(-1, rows.shape[-1]).numpy()
            with np.errstate(all="ignore"):  # NaN is detected when the logits are read
                return torch.from_numpy(self.fast(flat)).view(rows.shape)
        gated = functional.silu(self.gate_proj(rows)) * self.up_proj(rows)
        out: Tensor = self.down_proj(gated)
        return out

    def product_groups(self) -> list[Group]:
        """Implement `FusedPart`."""
        return [[self.gate_proj, self.up_proj], [self.down_proj]]

    def use(self, products: Sequence[Product]) -> None:
        """Implement `FusedPart`."""
        self.fast = NumpyMlp(*products)


class Layer(nn.Module):
    """A Llama decoder layer with an explicit `Mix`."""

    def __init__(self, shape: HeadConfig, attention: type[Attention] = Attention) -> None:
        super().__init__()
        wide, eps = shape.hidden_size, shape.rms_norm_eps
        self.self_attn = attention(shape, wide)
        self.mlp = Mlp(shape)
        self.input_layernorm = LlamaRMSNorm(wide, eps)
        self.post_attention_layernorm = LlamaRMSNorm(wide, eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map (B, n, width) to (B, n, width) at positions (n,)."""
        rows = rows + self.self_attn(self.input_layernorm(rows), positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


def rates(shape: HeadConfig) -> tuple[Tensor, float]:
    """Return rotary angles per position, (d/2,) in radians, and the factor on cosines and sines."""
    if shape.rope_scaling is None:
        return plain_rates(shape.head_dim, shape.rope_theta), 1.0
    return scaled_frequencies(
        LlamaConfig(
            hidden_size=shape.head_dim * shape.num_attention_heads,
            num_attention_heads=shape.num_attention_heads,
            head_dim=shape.head_dim,
            max_position_embeddings=shape.max_position_embeddings or 2048,
            rope_parameters=dict(shape.rope_scaling),
        )
    )


def plain_rates(size: int, theta: float) -> Tensor:
    """Return unscaled rotary angles per position, (size / 2,) in radians."""
    found: Tensor = theta ** -(torch.arange(0, size, 2, dtype=torch.float32) / size)
    return found


class Rotary:
    """The rotary embedding of a head; its frequencies stay in float32 as they are no buffer."""

    def __init__(self, shape: HeadConfig) -> None:
        self.rates, self.scale = rates(shape)

    def __call__(self, positions: Tensor) -> Turns:
        """Return the cosines and sines of rotary embedding at positions (n,)."""
        self.rates = self.rates.to(positions.device)
        return turns(positions, self.rates, self.scale)


def turns(positions: Tensor, rates: Tensor, scale: float) -> Turns:
    """Return cosines and sines for rows at positions (n,), repeated for both halves as in Llama."""
    half = positions.float()[:, None] * rates
    angles = torch.cat([half, half], dim=-1)
    return angles.cos() * scale, angles.sin() * scale


def rotate(rows: Tensor, turn: Turns) -> Tensor:
    """Apply rotary embedding to rows (B, heads, n, d)."""
    first, second = rows.chunk(2, dim=-1)
    cosine, sine = (part.to(rows.dtype) for part in turn)
    return rows * cosine + torch.cat([-second, first], dim=-1) * sine


def causal(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attend causally; a `Mix` for whole texts."""
    shared = keys.shape[1] != queries.shape[1]
    return functional.scaled_dot_product_attention(
        queries, keys, values, is_causal=True, enable_gqa=shared
    )


def masked(sees: Tensor | None) -> Mix:
    """Return a `Mix` in which row i attends to where a mask (n or 1, m) is true; None: to all."""

    def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        groups = queries.shape[1] // keys.shape[1]
        if groups == 1 or not queries.is_cuda:
            return functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=sees, enable_gqa=groups > 1
            )
        # With a mask, CUDA's fast kernels know no shared keys: the heads that share one are rows.
        rows = queries.unflatten(1, (-1, groups)).flatten(2, 3)
        seen = None if sees is None else sees.expand(queries.shape[2], -1).repeat(groups, 1)
        out = functional.scaled_dot_product_attention(rows, keys, values, attn_mask=seen)
        by_head: Tensor = out.unflatten(2, (groups, -1)).flatten(1, 2)
        return by_head

    return mixed


@dataclass(slots=True)
class Unrolled:
    """A `Mix` for EAGLE-3's "training-time test" (2503.01840), called once per draft step.

    Step 0 is causal over the text. In step s, row t is the s-th guess after text row t. It attends
    to the text's rows up to t, and to row t of every earlier step, which form its path. Later steps
    may have fewer rows; the last ones are left out.
    """

    past: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attend in the next draft step; see `Mix`."""
        groups = queries.shape[1] // keys.shape[1]
        new = keys.repeat_interleave(groups, dim=1), values.repeat_interleave(groups, dim=1)
        self.past.append(new)
        n, scale = queries.shape[2], queries.shape[3] ** -0.5
        (text_keys, text_values), *steps = [(k[:, :, :n], v[:, :, :n]) for k, v in self.past]
        scores = queries @ text_keys.transpose(-1, -2)
        later = torch.ones(n, n, dtype=torch.bool, device=queries.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
        own = [(queries * k).sum(-1, keepdim=True) for k, _ in steps]
        shares = (torch.cat([scores, *own], dim=-1).float() * scale).softmax(-1).to(values.dtype)
        mixed: Tensor = shares[..., :n] @ text_values
        for i, (_, v) in enumerate(steps):
            mixed = mixed + shares[..., n + i : n + i + 1] * v
        return mixed
