"""DFlash (2602.06036): a block of masks after the newest token is filled in one pass.

The newest token x is at position n; the target's states are known up to n - 1. The block consists
of x at n and masks at n + 1 and later. Every row of the block attends to these states and to all
rows of the block. No guess depends on another guess's token, so the top tokens form one path, a
point mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.mask_session import MaskSession
from specviz.drafters.dflash.head import DFlashHead, Past, block_mix
from specviz.engine.protocol import DraftSession
from specviz.models.passes import (
    States,
    causal_lm_weights,
    concat_layers,
    matrix_weights,
)
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import upload


class DFlash(HeadDrafter):
    """The DFlash drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "dflash"
    network: ClassVar[Any] = DFlashHead
    head: DFlashHead

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        return DFlashSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`.

        For each state that is read, `fc` and every layer's key and value projections are run. The
        output head is the target's.
        """
        head = self.head
        stored = sum(
            matrix_weights(module)
            for name, module in head.layers.named_modules()
            if name.endswith(("k_proj", "v_proj"))
        )
        entry = matrix_weights(head.fc) + stored
        return Weights(matrix_weights(head.layers), causal_lm_weights(target.model).head, entry)


class BlockReader:
    """Caches the keys and values of the text's states in one run, but not those of a block.

    Attributes:
        read: Number of states that have been read.
        work: Rows computed since the counter was last reset.
    """

    def __init__(self, head: DFlashHead, target: Target) -> None:
        self.head, self.device = head, target.device
        self.embed = target.model.get_input_embeddings()
        self.past: list[Past] = []
        self.read = 0
        self.waiting: list[States] = []
        self.work = Work()

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""
        self.waiting.append(states)

    def block(self, context: Sequence[int]) -> Tensor:
        """Return the outputs (block_size, h) of a block after `context`, from one pass.

        Raises:
            ValueError: If the states do not match the text.
        """
        self._take()
        newest = len(context) - 1
        if self.read != newest:
            raise ValueError(f"{self.read} states for a text of {len(context)} tokens.")
        words = self.embed(self.head.block(upload([context[-1]], self.device)))
        positions = torch.arange(newest, newest + words.shape[1], device=self.device)
        rows = self.head(
            words, positions, [block_mix(each, self.head.causal) for each in self.past]
        )
        self.work += Work(body=rows.shape[1])
        out: Tensor = rows[0]
        return out

    def _take(self) -> None:
        """Compute keys and values of the waiting states and append them to the cache."""
        layers = concat_layers([states.layers for states in self.waiting])
        self.waiting = []
        if not layers:
            return
        new = len(next(iter(layers.values())))
        positions = torch.arange(self.read, self.read + new, device=self.device)
        past = self.head.past({k: rows[None] for k, rows in layers.items()}, positions)
        self.read += new
        self.work += Work(entry=new)
        if self.past:
            past = [
                (torch.cat([old[0], keys], dim=2), torch.cat([old[1], values], dim=2))
                for old, (keys, values) in zip(self.past, past, strict=True)
            ]
        self.past = past


class DFlashSession(MaskSession):
    """A session of at most block_size - 1 guesses; the whole block is computed anyway."""

    def __init__(self, drafter: DFlash, target: Target, settings: Settings) -> None:
        self.reader = BlockReader(drafter.head, target)
        super().__init__(target, settings, self.reader)
        self.name, size = drafter.card.name, drafter.head.config.block_size
        self.longest = size - 1
        self.remark = {"form": "block", "block": size}

    def predict(self, context: Sequence[int], depth: int) -> tuple[Tensor, dict[str, int], Work]:
        """Implement `MaskSession.predict`."""
        self.reader.work = Work()
        logits: Tensor = self.target.model.get_output_embeddings()(self.reader.block(context)[1:])
        masks = len(logits)
        work = self.reader.work + Work(head=masks)
        return logits, {"states": self.reader.read, "masks": masks}, work
