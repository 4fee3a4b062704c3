"""Heads that read the target's final state and nothing else: what Medusa and L-MTP share.

One rule: no head sees another's guess; each maps the same state to its own future position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

Project = Callable[[Tensor], Tensor]  # the target's output projection: (…, h) to (…, V)
Embed = Callable[[Tensor], Tensor]  # the target's embeddings: ids (…) to (…, h)


def linear_at_zero(width: int) -> nn.Linear:
    """A square layer that starts as nothing, so that an untrained head repeats the target's."""
    layer = nn.Linear(width, width)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def residual(layer: nn.Module, x: Tensor) -> Tensor:
    """x + SiLU(layer(x)): (…, h) to (…, h)."""
    return x + nn.functional.silu(layer(x))


def side_by_side(heads: Sequence[nn.Module], states: Tensor, project: Project | None) -> Tensor:
    """Logits (heads, …, V) of states (…, h).

    project: the target's, once for all heads; None where they end in projections of their own.
    """
    out = torch.stack([head(states) for head in heads])
    return out if project is None else project(out)
