"""DFlash (2602.06036): a block of masks after the newest token is filled in one pass.

The newest token x is at position n; the target's states are known up to n - 1. The block consists
of x at n and masks at n + 1 and later. Every row of the block attends to these states and to all
rows of the block. No guess depends on another guess's token, so the top tokens form one path, a
point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.mask_session import MaskSession
from specviz.drafters.common.rank_paths import DepthPredictor
from specviz.drafters.dflash.head import DFlashHead
from specviz.engine.protocol import DraftSession
from specviz.models.graphs import Memory, pad_front
from specviz.models.passes import (
    States,
    causal_lm_weights,
    concat_layers,
    matrix_weights,
)
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


class DFlash(HeadDrafter):
    """The DFlash drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "dflash"
    network: ClassVar[Any] = DFlashHead
    head: DFlashHead

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        return DFlashSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # For each state that is read, `fc` and every layer's key and value projections are run. The
        # output head is the target's.
        head = self.head
        stored = sum(
            matrix_weights(module)
            for name, module in head.layers.named_modules()
            if name.endswith(("k_proj", "v_proj"))
        )
        entry = matrix_weights(head.fc) + stored
        return Weights(matrix_weights(head.layers), causal_lm_weights(target.model).head, entry)


class BlockReader:
    """Caches the keys and values of the text's states in one run, but not those of a block."""

    def __init__(self, head: DFlashHead, target: Target) -> None:
        self.head, self.device = head, target.device
        self.embed = target.model.get_input_embeddings()
        self.layers = head.config.num_hidden_layers
        shape = head.config.num_key_value_heads, head.config.head_dim
        self.cache = head_cache(head, [shape] * self.layers)
        self.read = 0
        self.waiting: list[States] = []
        self.work = Work()

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""
        self.waiting.append(states)

    def block(self, context: Sequence[int]) -> Tensor:
        """Return a block's outputs (block_size, h); ValueError if states do not fit `context`."""
        return self.plan(context, UploadBatch(self.device))()

    def plan(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Prepare `block`. Raises ValueError if the states do not match the text."""
        self.cache.cut(self.read)  # without the last block
        remember = self._plan_states(uploads)
        newest = len(context) - 1
        if self.read != newest:
            raise ValueError(f"{self.read} states for a text of {len(context)} tokens.")
        tokens = self.head.block(torch.tensor(context[-1:]))[0]
        size, last = len(tokens), newest + len(tokens)
        block, positions = uploads.put(tokens), uploads.put(torch.arange(newest, last))
        slots, sees = self.cache.plan(newest, last, size, uploads), self._plan_mask(last, uploads)
        self.work += Work(body=size)

        def run() -> Tensor:
            remember()
            mixes = [self.cache.mix(layer, slots(), sees()) for layer in range(self.layers)]
            rows: Tensor = self.head(self.embed(block())[None], positions(), mixes)[0]
            return rows

        return run

    def _plan_mask(self, last: int, uploads: UploadBatch) -> Callable[[], Tensor | None]:
        if not self.head.causal:
            return self.cache.whole_mask(last, uploads)
        size = self.head.config.block_size
        sees = torch.ones(size, last, dtype=torch.bool).tril(last - size)
        return uploads.put(self.cache.pad_mask(sees, size))

    def _plan_states(self, uploads: UploadBatch) -> Callable[[], None]:
        layers = concat_layers([states.layers for states in self.waiting])
        self.waiting = []
        if not layers:
            return lambda: None
        joined = self.head.join(layers)
        first, last = self.read, self.read + len(joined)
        size = self.cache.padded_rows(len(joined))
        given = uploads.put_states(joined, size)
        positions = uploads.put(pad_front(torch.arange(first, last), size))
        slots = self.cache.plan(first, last, size, uploads)
        self.read = last
        self.work += Work(entry=len(joined))

        def remember() -> None:
            for layer, past in enumerate(self.head.past_of(given()[None], positions())):
                self.cache.store(layer, slots(), *past)

        return remember


class DFlashSession(DepthPredictor, MaskSession):
    """A session of at most block_size - 1 guesses; the whole block is computed anyway."""

    def __init__(self, drafter: DFlash, target: Target, settings: Settings) -> None:
        self.reader = BlockReader(drafter.head, target)
        super().__init__(target, settings, self.reader)
        self.name, size = drafter.card.name, drafter.head.config.block_size
        self.longest = self._guesses = size - 1
        self.remark = {"form": "block", "block": size}

    @property
    def max_depth(self) -> int:
        """Implement `NodePredictor.max_depth`."""
        return self._guesses

    def predict_depths(self, context: Sequence[int]) -> Tensor:
        """Implement `DepthPredictor.predict_depths`; one pass over the block."""
        rows = self.reader.block(context)[1:]
        logits: Tensor = self.target.model.get_output_embeddings()(rows)
        return logits

    @property
    def memory(self) -> Memory | None:
        """Implement `MaskSession.memory`."""
        return self.reader.cache.memory

    def plan(
        self, context: Sequence[int], depth: int, uploads: UploadBatch
    ) -> tuple[Callable[[], Tensor], dict[str, int], Work]:
        """Implement `MaskSession.plan`."""
        self.reader.work = Work()
        block, project = (
            self.reader.plan(context, uploads),
            self.target.model.get_output_embeddings(),
        )
        masks = self.reader.head.config.block_size - 1
        work = self.reader.work + Work(head=masks)
        return lambda: project(block()[1:]), {"states": self.reader.read, "masks": masks}, work
