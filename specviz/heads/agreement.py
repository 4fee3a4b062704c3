"""How well a head's guesses fit the frozen target, depth by depth, on the text at hand.

Rule: row t of depth d guesses tokens[:, t + d + 1], given that the text's own tokens came before;
depth 1 is the first token that the target has not given yet.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.heads.frozen import Frozen


@torch.no_grad()
def overlaps(guesses: Sequence[Tensor], frozen: Frozen) -> list[float]:
    """Σ min(p, q) by depth at temperature 1: how likely a token sampled from the head is kept.

    guesses: by depth, logits (B, rows, V); rows beyond T - d have nothing to be compared with.
    """
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, frozen, depth)
        shares.append(float(torch.minimum(p.softmax(-1), q.softmax(-1)).sum(-1).mean()))
    return shares


@torch.no_grad()
def same_tops(guesses: Sequence[Tensor], frozen: Frozen) -> list[float]:
    """By depth, how often head and target have the same most probable token (temperature 0)."""
    shares = []
    for depth, guess in enumerate(guesses, start=1):
        p, q = _aligned(guess, frozen, depth)
        shares.append(float((p.argmax(-1) == q.argmax(-1)).float().mean()))
    return shares


def _aligned(guess: Tensor, frozen: Frozen, depth: int) -> tuple[Tensor, Tensor]:
    """Logits of target and head for the same token."""
    rows = min(frozen.tokens.shape[1] - depth, guess.shape[1])
    return frozen.logits[:, depth : depth + rows], guess[:, :rows].float()
