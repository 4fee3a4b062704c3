"""A tree whose shape is known before its tokens are, made without the host waiting for the device.

Where a read makes the host wait, all levels are made before any of them is read, and what they need
of the host is sent at once. Elsewhere a level is read before the next is made, so that none is made
in vain. The tree is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import Protocol

import torch
from torch import Tensor

from specviz.drafters.kit.growing import Growing, Level, Shape
from specviz.verification.transfer import UploadBatch

Reading = Callable[[Tensor], Tensor]  # a level's tokens (n,) to logits (n, V)


class Reads(Protocol):
    """A session whose model reads a text and then a tree, level by level. device: where it does."""

    @property
    def device(self) -> torch.device:
        """See above."""
        ...

    def planned(self, context: Sequence[int], level: Level, parcel: UploadBatch) -> Reading:
        """The pass over a level, to be made after those that were planned before.

        What it needs of the host travels in the parcel. The root's reads the text, whatever it is
        called with.
        """
        ...

    def forget(self, node: int) -> None:
        """Nodes from this on were read in vain: they are none, or come again."""
        ...


def grow(grown: Growing, reads: Reads, context: Sequence[int], shape: Shape) -> None:
    """Grow a tree to its end."""
    ahead = reads.device.type == "cuda" and not grown.settings.confidence
    while levels := list(islice(grown.levels(shape), None if ahead else 1)):
        _put(grown, reads, context, levels)
        grown.settle()
        if levels[-1].nodes[0] >= grown.newest.start:
            reads.forget(grown.newest.start)


def _put(grown: Growing, reads: Reads, context: Sequence[int], levels: Sequence[Level]) -> None:
    """Put guesses under these levels."""
    parcel = UploadBatch(reads.device)
    known = parcel.put(torch.tensor([grown.tokens[node] for node in levels[0].nodes]))
    passes = [reads.planned(context, level, parcel) for level in levels]
    along = parcel if reads.device.type == "cuda" else None  # MPS has no float64: see `leading`
    coins = [grown.coins(level, along) for level in levels]
    guesses = grown.put(levels[0], passes[0](known()), coins[0])
    for at, (before, level) in enumerate(pairwise(levels), 1):
        words = guesses.words
        chosen = torch.stack([words[node - before.first] for node in level.nodes])
        guesses = grown.put(level, passes[at](chosen), coins[at])
