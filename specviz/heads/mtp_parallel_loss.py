"""What parallel layers are trained to do on a frozen trunk (2404.19737, section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from specviz.heads.frozen import Frozen
from specviz.heads.future_loss import future_loss, weighted
from specviz.heads.mtp_parallel import ParallelHeads


def loss(head: ParallelHeads, frozen: Frozen) -> Tensor:
    """The mean over heads; head i, from 0, guesses t + 2 + i."""
    return weighted(
        [future_loss(row, frozen, 2 + i) for i, row in enumerate(guesses(head, frozen))]
    )


def guesses(head: ParallelHeads, frozen: Frozen) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py. The trunk is all layers but the last."""
    return [head.logits(row, frozen.head) for row in head.features(frozen.states[-2])]
