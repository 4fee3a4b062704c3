"""What blockwise heads are trained to do on a frozen target (1811.03115, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from specviz.heads.blockwise import BlockwiseHeads
from specviz.heads.frozen import Frozen
from specviz.heads.future_loss import future_loss, weighted


def loss(head: BlockwiseHeads, frozen: Frozen) -> Tensor:
    """The mean over heads (the paper takes one at random a step); head i, from 0, has t + 2 + i."""
    return weighted(
        [future_loss(row, frozen, 2 + i) for i, row in enumerate(guesses(head, frozen))]
    )


def guesses(head: BlockwiseHeads, frozen: Frozen) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py."""
    return list(head(frozen.final, frozen.head))
