"""Mixture of Attentions (2410.03804): a memory of all the target's layers, asked again and again.

After every pass of the target the keys and values of its newly verified tokens, all layers, are
mixed into one memory row each; while a try is drafted the memory stands still, and every guess only
asks it anew. The tree follows the head's confidence, as EAGLE-2's does: top tokens, a point mass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.dynamic_session import DynamicSession
from specviz.drafters.common.dynamic_tree import DeviceLevelPass, LevelMasks
from specviz.drafters.common.layers import KeysValues
from specviz.drafters.moa.head import MoaHead, Remembered, beside, recall
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import CaptureSpec, States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal_lm_weights, matrix_weights
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch, upload_together


class Moa(HeadDrafter):
    """A head in eval mode, on the target's device and in its dtype.

    layers: how many the target has; the keys and values of all of them are asked for.
    """

    name = "moa"
    network = MoaHead
    head: MoaHead

    def __init__(self, head: MoaHead, card: ModelCard, layers: int) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(keys_values=tuple(range(1, layers + 1)))

    @classmethod
    def around(cls, head: MoaHead, card: ModelCard, target: Target) -> Self:
        """Implement `HeadDrafter.around`."""
        return cls(head, card, target.model.config.get_text_config().num_hidden_layers)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`.

        Raises Unsuitable where the target has other widths.
        """
        self.head.config.check_fit(self.card.name, target.target)
        reader = MemoryReader(self.head, target.target, self.card.name)
        return MoaSession(reader, target.target, settings, len(self.capture.keys_values))

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`.

        The memory is made of all the target's layers, a row of layer
        self-attention each, and kept as keys and values; the rest of cross-attention stands before
        the output head, which is the target's.
        """
        head, asked = self.head, self.head.cross_attention
        kept = matrix_weights(asked.self_attn.k_proj) + matrix_weights(asked.self_attn.v_proj)
        layers = len(self.capture.keys_values) * matrix_weights(head.layer_self_attention)
        entry = layers + matrix_weights(head.Ekv2E) + kept
        borrowed = causal_lm_weights(target.model).head
        return Weights(
            matrix_weights(head.self_attention), borrowed + matrix_weights(asked) - kept, entry
        )


class MoaSession(DynamicSession):
    """A dynamic tree over the reader below."""

    def __init__(
        self, reader: MemoryReader, target: Target, settings: Settings, layers: int
    ) -> None:
        super().__init__(reader, target, settings, {"layers": layers})
        self.memory_reader = reader

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DynamicSession`. Evidence of the try: also how many tokens the memory holds."""
        self.remark["memory"] = len(context) - 1
        self.memory_reader.context = context
        return super().propose(context, max_tokens, chance)

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Implement `Foresight.after`."""
        self.memory_reader.context = context
        return super().logits_after(context, tokens, parents, nodes)


class MemoryReader:
    """One run's caches over a shared head: memory of verified tokens, and rows of self-attention.

    context: the text, its first token too, which no commit brings. words: self-attention's rows of
    the text, then of the last tree's nodes. passes: of the head, since the last text. work: rows
    read, until somebody sets it back.
    """

    def __init__(self, head: MoaHead, target: Target, name: str) -> None:
        self.head = head
        self.embed = target.model.get_input_embeddings()
        self.project = target.model.get_output_embeddings()
        self.device = target.device
        self.name = name
        self.context: Sequence[int] = ()
        self.waiting: list[States] = []  # verified, not yet in the memory
        self.remembered: Remembered | None = None
        self.words = KeysValues()
        self.rows = 0  # of the text, in `words`
        self.paths: dict[int, list[int]] = {}  # by node, the rows of its path, its own included
        self.passes = 0
        self.work = Work()

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """These states were verified. Read when next asked."""
        self.waiting.append(states)

    def read_text(self, length: int) -> Tensor:
        """Forget the last tree, read what waits of a text of `length` tokens.

        Logits (1, V) of what follows the newest token, which is node 0 of the next tree and has
        no memory yet. Raises ValueError where the states taken do not make up that text.
        """
        return self.plan_text(length, UploadBatch(self.device))()

    def plan_text(self, length: int, parcel: UploadBatch) -> Callable[[], Tensor]:
        """`text`, as what is to be called for it: what it needs of the host is in the parcel."""
        if not self.waiting:
            raise ValueError("There is no new token to read.")
        known = self._remember(length)
        self.words.cut(self.rows)
        start = self.rows
        self.rows, self.paths, self.passes = length, {0: []}, 0
        words = parcel.put(torch.tensor(self.context[start:length]))
        where = parcel.put(torch.arange(start, length))
        sees = parcel.put(torch.ones(length - start, length, dtype=torch.bool).tril(start))

        def reading() -> Tensor:
            heard = self._hear(words(), where(), sees())
            return self._ask(heard[:, -1:], where()[-1:], known)

        return reading

    def read_level(
        self, nodes: Sequence[int], tokens: Sequence[int], parents: Sequence[int]
    ) -> Tensor:
        """Read nodes whose parents were read; logits (n, V) of what follows each.

        tokens, parents: by node, of the whole tree so far.
        """
        assert self.remembered is not None
        first = self.rows + len(self.paths) - 1
        sees = torch.zeros(len(nodes), first + len(nodes), dtype=torch.bool)
        sees[:, : self.rows] = True
        for i, node in enumerate(nodes):
            self.paths[node] = [*self.paths[parents[node]], first + i]
            sees[i, self.paths[node]] = True
        positions = [self.rows - 1 + len(self.paths[node]) for node in nodes]
        asked = torch.tensor([[tokens[node] for node in nodes], positions])
        (words, where), sees = upload_together(self.device, asked, sees)
        return self._ask(self._hear(words, where, sees), where, self.remembered)

    def plan_device_levels(self, many: int, levels: int, parcel: UploadBatch) -> DeviceLevelPass:
        """Levels of so many nodes each, after the root's, to be called level by level."""
        sight = LevelMasks(self.rows, many, levels, parcel)

        def reading(words: Tensor, above: Tensor) -> Tensor:
            assert self.remembered is not None
            where, sees = sight.under(above)
            return self._ask(self._hear(words, where, sees), where, self.remembered)

        return reading

    def _remember(self, length: int) -> Remembered:
        """Layer self-attention on all that waits: once after a pass of the target."""
        layers = torch.cat([beside(states.keys_values) for states in self.waiting])[None]
        past = 0 if self.remembered is None else self.remembered[0].shape[2]
        new = layers.shape[1]
        if past + new != length - 1:
            raise ValueError(f"{past} + {new} states for a text of {length} tokens.")
        made = self.head.remember(layers, torch.arange(past, past + new, device=self.device))
        self.work += Work(entry=new)
        if self.remembered is not None:
            keys, values = self.remembered
            made = torch.cat([keys, made[0]], dim=2), torch.cat([values, made[1]], dim=2)
        self.waiting, self.remembered = [], made
        return made

    def _hear(self, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Self-attention on new rows, each seeing what `sees` (n, rows) says: (1, n, h)."""
        self.work += Work(body=len(words))
        mix = self.words.mix(sees)
        rows: Tensor = self.head.self_attention(self.embed(words)[None], positions, mix)
        return rows

    def _ask(self, heard: Tensor, positions: Tensor, known: Remembered) -> Tensor:
        """Cross-attention: rows (1, n, h), each seeing the whole memory, to logits (n, V)."""
        self.passes += 1
        output = self.head.cross_attention(heard, positions, recall(known))[0]
        logits: Tensor = self.project(output)
        self.work += Work(head=len(logits))
        return logits
