"""What L-MTP's heads are trained to do on a frozen target (2505.17505, its first stage)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.heads.frozen import Frozen
from specviz.heads.future_loss import future_loss, weighted
from specviz.heads.lmtp import LeapHeads


def loss(head: LeapHeads, frozen: Frozen) -> Tensor:
    """The mean over heads; head m, from 1, guesses t + k m + 1."""
    leap = head.config.skip_token
    logits = head(frozen.final, frozen.head)
    return weighted([future_loss(row, frozen, leap * m + 1) for m, row in enumerate(logits, 1)])


def guesses(head: LeapHeads, frozen: Frozen) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py: from the newest state, or looking backward.

    The first rows have no states to look back to; there they are zero, which counts as a miss.
    """
    leap = head.config.skip_token
    logits = head(frozen.final, frozen.head)
    found = []
    for j in range(1, leap * len(logits) + 1):
        m = -(-j // leap)
        back = leap * m - j
        row = logits[m - 1]
        found.append(torch.cat([torch.zeros_like(row[:, :back]), row[:, : row.shape[1] - back]], 1))
    return found
