"""How well a head knows what the frozen target will say some tokens later.

Rule: the teacher is the target's own law at that position, not the text's token: a guess is kept
where the target agrees, and a law says more than one draw from a corpus. (The papers take the
text: there the target learns along, or its law is too large to keep.)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.heads.frozen import Frozen


def future_loss(logits: Tensor, frozen: Frozen, distance: int) -> Tensor:
    """Cross-entropy of a head's logits (B, r, V), row t guessing the token t + distance.

    The target's logits for that token stand at t + distance - 1; rows without one are left out.
    distance: from 1 (the target's own); at most T.
    """
    rows = min(logits.shape[1], frozen.tokens.shape[1] - distance + 1)
    teacher = frozen.logits[:, distance - 1 :][:, :rows].float().softmax(-1)
    student = logits[:, :rows].float().log_softmax(-1)
    return -(teacher * student).sum(-1).mean()


def weighted(parts: Sequence[Tensor], falling: float = 1.0) -> Tensor:
    """The mean of losses by depth, each counting `falling` times the one before."""
    weights = torch.tensor([falling**i for i in range(len(parts))], device=parts[0].device)
    return (torch.stack(list(parts)) * weights).sum() / weights.sum()
