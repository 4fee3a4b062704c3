"""What Medusa's heads are trained to do on a frozen target (Medusa-1, 2401.10774)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from torch import Tensor

from specviz.heads.frozen import Frozen
from specviz.heads.future_loss import future_loss, weighted
from specviz.heads.medusa import MedusaHeads

FALLING: Final = 0.8  # the paper's λ: far guesses are rarely reached


def loss(head: MedusaHeads, frozen: Frozen) -> Tensor:
    """The weighted mean over heads; head i, from 0, guesses t + 2 + i."""
    parts = [future_loss(row, frozen, 2 + i) for i, row in enumerate(guesses(head, frozen))]
    return weighted(parts, FALLING)


def guesses(head: MedusaHeads, frozen: Frozen) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py."""
    return list(head(frozen.final, frozen.head))
