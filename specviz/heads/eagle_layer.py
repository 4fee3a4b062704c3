"""The parts of a one-layer drafter: attention with rotary positions, and who may attend to whom.

Rule: attention does not know why a row sees another. What it is given decides (a `Mix`): a causal
text, a tree over a cache, or the unrolled steps of training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.cache import RoomyLayer
from specviz.heads.eagle_config import HeadConfig

Mix = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys, values -> mixed values, see below
Turns = tuple[Tensor, Tensor]  # cosines and sines of rotary angles, (n, d) each, float32


class Attention(nn.Module):
    """Llama's attention from rows of any width. Projections have no bias, as in all EAGLE heads."""

    def __init__(self, shape: HeadConfig, width: int) -> None:
        super().__init__()
        self.size, self.theta = shape.head_dim, shape.rope_theta
        inner, shared = shape.num_attention_heads, shape.num_key_value_heads
        self.q_proj = nn.Linear(width, inner * self.size, bias=False)
        self.k_proj = nn.Linear(width, shared * self.size, bias=False)
        self.v_proj = nn.Linear(width, shared * self.size, bias=False)
        self.o_proj = nn.Linear(inner * self.size, shape.hidden_size, bias=False)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, width) to (B, n, h). positions: (n,).

        mix takes queries (B, heads, n, d) and the new rows' keys and values, rotated, with fewer
        heads where they are shared; it gives (B, heads, n, d).
        """
        queries, keys, values = (
            made.unflatten(-1, (-1, self.size)).transpose(1, 2)
            for made in (self.q_proj(rows), self.k_proj(rows), self.v_proj(rows))
        )
        turn = rotations(positions, self.size, self.theta)
        mixed = mix(rotate(queries, turn), rotate(keys, turn), values)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out


class Mlp(nn.Module):
    """Llama's gated MLP."""

    def __init__(self, shape: HeadConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """(..., h) to (..., h)."""
        gated = functional.silu(self.gate_proj(rows)) * self.up_proj(rows)
        out: Tensor = self.down_proj(gated)
        return out


def rotations(positions: Tensor, size: int, theta: float) -> Turns:
    """How far to rotate rows at positions (n,); the two halves of a row alike, as Llama's."""
    steps = torch.arange(0, size, 2, device=positions.device, dtype=torch.float32) / size
    half = positions.float()[:, None] * theta**-steps
    angles = torch.cat([half, half], dim=-1)
    return angles.cos(), angles.sin()


def rotate(rows: Tensor, turn: Turns) -> Tensor:
    """Rotate (B, heads, n, d)."""
    first, second = rows.chunk(2, dim=-1)
    cosine, sine = (part.to(rows.dtype) for part in turn)
    return rows * cosine + torch.cat([-second, first], dim=-1) * sine


def causal(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """A `Mix` for whole texts: every row sees itself and those before it."""
    shared = keys.shape[1] != queries.shape[1]
    return functional.scaled_dot_product_attention(
        queries, keys, values, is_causal=True, enable_gqa=shared
    )


@dataclass(slots=True)
class KeysValues:
    """One run's keys and values."""

    cached: RoomyLayer = field(default_factory=RoomyLayer)

    def mix(self, sees: Tensor) -> Mix:
        """A `Mix` that appends the new rows. sees: (n, rows, the new included) bool.

        A boolean mask is right here, since the call below is SDPA whatever the target uses.
        """

        def mixed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            shared = keys.shape[1] != queries.shape[1]
            keys, values = self.cached.update(keys, values)
            return functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=sees, enable_gqa=shared
            )

        return mixed

    def cut(self, rows: int) -> None:
        """Forget all but the first `rows`."""
        self.cached.cut(rows)


@dataclass(slots=True)
class Unrolled:
    """A `Mix` for training-time test (EAGLE-3, 2503.01840): call it once a draft step.

    Step 0 is causal over the text. At step s, row t is the s-th guess after text row t: it sees the
    text's rows up to t, and the rows t of the steps between, which lie on its own path. Later steps
    may have fewer rows, the first ones.
    """

    past: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """See `Mix`."""
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
