"""Mixture of Attentions (2410.03804): guesses attend to a memory of all the target's layers.

After every pass of the target, each newly verified token is added to a memory as one row, which
mixes the token's keys and values from all layers. The memory does not change while a draft is
built; every guess attends to it. The tree is dynamic, as in EAGLE-2: it consists of top tokens, a
point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.dynamic_session import DynamicSession
from specviz.drafters.common.dynamic_tree import DeviceLevelPass, LevelMasks, level_rows
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.session import LevelPass
from specviz.drafters.moa.head import MoaHead, concat_keys_values
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.graphs import Memory, pad_front
from specviz.models.passes import CaptureSpec, States, causal_lm_weights, matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch

SELF: Final = 0  # layers of the cache
CROSS: Final = 1
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # maps tokens, positions, mask to (1, n, h)


class Moa(HeadDrafter):
    """The drafter of a Mixture of Attentions head, which reads the keys of all `layers`."""

    name = "moa"
    network = MoaHead
    head: MoaHead

    def __init__(self, head: MoaHead, card: ModelCard, layers: int) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(keys_values=tuple(range(1, layers + 1)))

    @classmethod
    def from_head(cls, head: MoaHead, card: ModelCard, target: Target) -> Self:
        """Implement `HeadDrafter.from_head`."""
        return cls(head, card, target.model.config.get_text_config().num_hidden_layers)

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        reader = MemoryReader(self.head, target, self.card.name)
        remark = {"layers": len(self.capture.keys_values)}
        return MoaSession(reader, target, settings, remark)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # For each new memory row, layer self-attention computes one row per layer; the result is
        # stored as keys and values of cross-attention. For each guess, the other parts of
        # cross-attention and the output head, which is the target's, are computed.
        head, attention = self.head, self.head.cross_attention
        stored = matrix_weights(attention.self_attn.k_proj) + matrix_weights(
            attention.self_attn.v_proj
        )
        layers = len(self.capture.keys_values) * matrix_weights(head.layer_self_attention)
        entry = layers + matrix_weights(head.Ekv2E) + stored
        borrowed = causal_lm_weights(target.model).head
        return Weights(
            matrix_weights(head.self_attention),
            borrowed + matrix_weights(attention) - stored,
            entry,
        )


class MoaSession(DynamicSession):
    """A session that also records the number of the target's layers and the memory's size."""

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        self.remark["memory"] = len(context) - 1
        return super().propose(context, max_tokens, chance)


class MemoryReader:
    """A head's caches in one run: the memory of verified tokens, and rows of self-attention.

    Attributes:
        cache: Rows of self-attention (those of the text, then those of the last tree's nodes), and
            those of cross-attention, which are the memory.
        passes: Passes of the head since the last text.
    """

    def __init__(self, head: MoaHead, target: Target, name: str) -> None:
        self.head = head
        self.embed = target.model.get_input_embeddings()
        self.project = target.model.get_output_embeddings()
        self.device = target.device
        self.name = name
        self.waiting: list[States] = []  # states that are not in the memory yet
        blocks = head.self_attention.self_attn, head.cross_attention.self_attn
        shapes = [(each.shape.num_key_value_heads, each.size) for each in blocks]
        self.cache = head_cache(head, shapes)
        self.remembered = 0  # number of rows of the memory
        self.rows = 0  # number of rows of the text in self-attention
        self.paths: dict[int, list[int]] = {}  # for each node, its path's rows, including its own
        self.outputs: Any = None
        self.passes = 0
        self.work = Work()

    @property
    def memory(self) -> Memory | None:
        """Implement `HeadReader.memory`."""
        return self.cache.memory

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `HeadReader.add_states`; the states are read with the next text."""
        self.waiting.append(states)

    def plan_text(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Implement `HeadReader.plan_text`; the newest token is not in the memory."""
        # Raises ValueError if the states do not match the text.
        length = len(context)
        if not self.waiting:
            raise ValueError("There is no new token to read.")
        remember = self._plan_memory(length, uploads)
        self.cache.cut(self.rows, SELF)
        start, new = self.rows, length - self.rows
        self.rows, self.paths, self.passes = length, {0: []}, 0
        size = self.cache.padded_rows(new)
        words = uploads.put(pad_front(torch.tensor(context[start:]), size))
        positions = uploads.put(pad_front(torch.arange(start, length), size))
        seen = torch.ones(new, length, dtype=torch.bool).tril(start)
        sees = uploads.put(self.cache.pad_mask(seen, size))
        attend = self._plan_attention(start, length, size, uploads)
        cross = self._plan_cross(1, uploads)

        def reading() -> Tensor:
            remember()
            rows = attend(words(), positions(), sees())
            return cross(rows[:, -1:], positions()[-1:])

        return reading

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> LevelPass:
        """Implement `HeadReader.plan_level`."""
        positions, seen = level_rows(self.rows, self.paths, nodes, above)
        count, last = seen.shape
        where, sees = uploads.put(positions), uploads.put(self.cache.pad_mask(seen, count))
        attend = self._plan_attention(last - count, last, count, uploads)
        cross = self._plan_cross(count, uploads)
        return lambda words: cross(attend(words, where(), sees()), where())

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Implement `HeadReader.plan_device_levels`."""
        sight = LevelMasks(self.rows, count, levels, self.cache, uploads)
        firsts = range(self.rows, self.rows + levels * count, count)
        attends = [self._plan_attention(i, i + count, count, uploads) for i in firsts]
        crosses = [self._plan_cross(count, uploads) for _ in firsts]

        def reading(depth: int, words: Tensor, above: Tensor) -> Tensor:
            where, sees = sight.under(depth, above)
            return crosses[depth](attends[depth](words, where, sees), where)

        return reading

    def _plan_memory(self, length: int, uploads: UploadBatch) -> Callable[[], None]:
        # Once after each pass of the target.
        layers = torch.cat([concat_keys_values(states.keys_values) for states in self.waiting])
        past, new = self.remembered, len(layers)
        if past + new != length - 1:
            raise ValueError(f"{past} + {new} states for a text of {length} tokens.")
        self.waiting, self.remembered = [], length - 1
        size = self.cache.padded_rows(new)
        given = uploads.put_states(layers, size)
        positions = uploads.put(pad_front(torch.arange(past, length - 1), size))
        slots = self.cache.plan(past, length - 1, size, uploads)
        self.work += Work(entry=new)

        def remember() -> None:
            self.cache.store(CROSS, slots(), *self.head.remember(given()[None], positions()))

        return remember

    def _plan_attention(self, first: int, last: int, rows: int, uploads: UploadBatch) -> Attend:
        slots = self.cache.plan(first, last, rows, uploads)
        self.work += Work(body=last - first)

        def attend(words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
            mix = self.cache.mix(SELF, slots(), sees)
            rows: Tensor = self.head.self_attention(self.embed(words)[None], positions, mix)
            return rows

        return attend

    def _plan_cross(self, rows: int, uploads: UploadBatch) -> Callable[[Tensor, Tensor], Tensor]:
        # The returned function maps rows (1, n, h) and positions (n,) to logits (n, V).
        sees = self.cache.whole_mask(self.remembered, uploads)
        self.passes += 1
        self.work += Work(head=rows)

        def mix(queries: Tensor, _keys: Tensor, _values: Tensor) -> Tensor:
            return self.cache.attend(CROSS, sees(), queries)

        def cross(rows: Tensor, positions: Tensor) -> Tensor:
            logits: Tensor = self.project(self.head.cross_attention(rows, positions, mix)[0])
            return logits

        return cross
