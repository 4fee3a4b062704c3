"""Mixture of Attentions (2410.03804): guesses attend to a memory of all the target's layers.

After every pass of the target, each newly verified token is added to a memory as one row, which
mixes the token's keys and values from all layers. The memory does not change while a draft is
built; every guess attends to it. The tree is dynamic, as in EAGLE-2: it consists of top tokens, a
point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.dynamic_session import DynamicSession
from specviz.drafters.common.dynamic_tree import DeviceLevelPass, LevelMasks, level_rows
from specviz.drafters.common.layers import KeysValues
from specviz.drafters.common.session import LevelPass
from specviz.drafters.moa.head import MoaHead, Remembered, concat_keys_values, recall
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import CaptureSpec, States, causal_lm_weights, matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


class Moa(HeadDrafter):
    """The drafter of a Mixture of Attentions head.

    Args:
        head: The head.
        card: Its card.
        layers: Number of the target's layers; the keys and values of all layers are captured.
    """

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
        """Implement `Drafter.weights`.

        For each new memory row, layer self-attention computes one row per layer; the result is
        stored as keys and values of cross-attention. For each guess, the other parts of
        cross-attention and the output head, which is the target's, are computed.
        """
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
        words: Cached rows of self-attention: those of the text, then those of the last tree's
            nodes.
        passes: Passes of the head since the last text.
        work: Rows computed since the counter was last reset.
    """

    def __init__(self, head: MoaHead, target: Target, name: str) -> None:
        self.head = head
        self.embed = target.model.get_input_embeddings()
        self.project = target.model.get_output_embeddings()
        self.device = target.device
        self.name = name
        self.waiting: list[States] = []  # states that are not in the memory yet
        self.remembered: Remembered | None = None
        self.words = KeysValues()
        self.rows = 0  # number of rows of the text in `words`
        self.paths: dict[int, list[int]] = {}  # for each node, its path's rows, including its own
        self.passes = 0
        self.work = Work()

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `HeadReader.add_states`; the states are read with the next text."""
        self.waiting.append(states)

    def plan_text(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Implement `HeadReader.plan_text`; the newest token is not in the memory.

        Raises:
            ValueError: If the states do not match the text.
        """
        length = len(context)
        if not self.waiting:
            raise ValueError("There is no new token to read.")
        known = self._remember(length)
        self.words.cut(self.rows)
        start = self.rows
        self.rows, self.paths, self.passes = length, {0: []}, 0
        words = uploads.put(torch.tensor(context[start:]))
        where = uploads.put(torch.arange(start, length))
        sees = uploads.put(torch.ones(length - start, length, dtype=torch.bool).tril(start))

        def reading() -> Tensor:
            rows = self._self_attend(words(), where(), sees())
            return self._cross_attend(rows[:, -1:], where()[-1:], known)

        return reading

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> LevelPass:
        """Implement `HeadReader.plan_level`."""
        where, seen = map(uploads.put, level_rows(self.rows, self.paths, nodes, above))

        def reading(words: Tensor) -> Tensor:
            assert self.remembered is not None
            rows = self._self_attend(words, where(), seen())
            return self._cross_attend(rows, where(), self.remembered)

        return reading

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Implement `HeadReader.plan_device_levels`."""
        sight = LevelMasks(self.rows, count, levels, uploads)

        def reading(words: Tensor, above: Tensor) -> Tensor:
            assert self.remembered is not None
            where, sees = sight.under(above)
            return self._cross_attend(self._self_attend(words, where, sees), where, self.remembered)

        return reading

    def _remember(self, length: int) -> Remembered:
        """Add the waiting states to the memory, once after each pass of the target."""
        layers = torch.cat([concat_keys_values(states.keys_values) for states in self.waiting])[
            None
        ]
        past = 0 if self.remembered is None else self.remembered[0].shape[2]
        new = layers.shape[1]
        if past + new != length - 1:
            raise ValueError(f"{past} + {new} states for a text of {length} tokens.")
        remembered = self.head.remember(layers, torch.arange(past, past + new, device=self.device))
        self.work += Work(entry=new)
        if self.remembered is not None:
            keys, values = self.remembered
            remembered = (
                torch.cat([keys, remembered[0]], dim=2),
                torch.cat([values, remembered[1]], dim=2),
            )
        self.waiting, self.remembered = [], remembered
        return remembered

    def _self_attend(self, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Compute self-attention of new rows, (1, n, h), under a mask `sees` (n, rows)."""
        self.work += Work(body=len(words))
        mix = self.words.mix(sees)
        rows: Tensor = self.head.self_attention(self.embed(words)[None], positions, mix)
        return rows

    def _cross_attend(self, rows: Tensor, positions: Tensor, known: Remembered) -> Tensor:
        """Compute cross-attention of rows (1, n, h) to the whole memory, and logits (n, V)."""
        self.passes += 1
        output = self.head.cross_attention(rows, positions, recall(known))[0]
        logits: Tensor = self.project(output)
        self.work += Work(head=len(logits))
        return logits
