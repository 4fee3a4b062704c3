"""Readers of heads that draft from the target's hidden states.

A reader first reads the states of the text, and then the nodes of a tree. Row t pairs the state of
token t with token t + 1, and predicts token t + 2. An off-by-one error here keeps the text correct,
but hardly any guess is accepted. The target has not computed a state for a guess yet, so the head's
output for the parent is used instead; once the guess is accepted, its row is computed again from
the target's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor

from specviz.drafters.common.dynamic_tree import DeviceLevelPass, LevelMasks, level_rows
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.layers import Attention
from specviz.models.graphs import Memory, pad_front
from specviz.models.numpy_layers import NumpyCache, RotaryTable, Rotation
from specviz.models.passes import States
from specviz.models.products import Array
from specviz.models.target import Target
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch

LEAST: Final = np.finfo(np.float32).min


# Computes outputs (n, h) of planned rows from the fused states of the target, or the parents'
# outputs, (n, h); the embeddings of the next tokens, (n, h); positions (n,); and which cached rows
# (including the new ones) each row attends to: (n, rows), bool.
LayersPass = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class TorchLayers:
    """Runs a head's layers in one run by the head's own forward method, and caches their rows."""

    def __init__(self, head: Any) -> None:
        shapes = [(each.shape.num_key_value_heads, each.size) for each in head.attentions]
        self._head, self.cache = head, head_cache(head, shapes)

    def plan(self, first: int, last: int, rows: int, uploads: UploadBatch) -> LayersPass:
        """Prepare a pass over new rows; see `HeadCache.plan`."""
        slots = self.cache.plan(first, last, rows, uploads)

        def run(states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
            mix = self.cache.mix(0, slots(), sees)
            out: Tensor = self._head(states[None], words[None], positions, mix)[0]
            return out

        return run

    def cut(self, rows: int) -> None:
        """Discard the keys and values of all but the first `rows` rows."""
        self.cache.cut(rows)


# Computes outputs (n, h) of states (n, h), embeddings (n, h), the rows' rotation, an additive
# attention mask (None: every row attends to all), and the keys and values of the run.
NumpyPass = Callable[[Array, Array, Rotation, Array | None, NumpyCache], Array]


class NumpyHead(Protocol):
    """A head that can also compute its layers in NumPy."""

    @property
    def attentions(self) -> list[Attention]:
        """The attention modules of its layers."""

    def numpy_pass(self) -> NumpyPass:
        """Return a function that computes all layers in NumPy, for one run."""


class NumpyLayers(TorchLayers):
    """Runs the layers in NumPy, which is faster for few rows: float32 on a CPU."""

    def __init__(self, head: NumpyHead) -> None:
        super().__init__(head)
        first = head.attentions[0]
        self._pass, self._table = head.numpy_pass(), RotaryTable(first.size, first.rotary)
        shared = first.shape.num_key_value_heads
        self._rows = NumpyCache(len(head.attentions), shared, first.size)

    def plan(self, first: int, last: int, rows: int, uploads: UploadBatch) -> LayersPass:
        """Implement `TorchLayers.plan`."""
        return self._run

    def _run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        mask = None
        seen = sees.numpy()
        if len(words) > 1 or not seen.all():
            mask = np.where(seen, np.float32(0.0), LEAST)
        turn = self._table.at(positions.numpy())
        with np.errstate(all="ignore"):  # NaN is detected later, in the logits
            made = self._pass(states.numpy(), words.numpy(), turn, mask, self._rows)
        return torch.from_numpy(made)

    def cut(self, rows: int) -> None:
        """Implement `TorchLayers.cut`."""
        self._rows.cut(rows)


def start_layers(head: Any) -> TorchLayers:
    """Return a head's layers for one run: in NumPy if its products are optimized for it."""
    if all(each.fast is not None for each in head.attentions):
        return NumpyLayers(head)
    return TorchLayers(head)


class FeatureReader:
    """Runs a head on texts and trees in one run, and caches rows of the text and the last tree.

    Args:
        head: Computes outputs of (states, words, positions, mix).
        target: The target.
        states_of: Selects the states that the head reads, (n, h), from the target's.
        logits_of: Maps the head's outputs (n, h) to logits (n, V).
        name: Name of the head in error messages.

    Attributes:
        passes: Passes of the head since the last text.
    """

    def __init__(
        self,
        head: Any,
        target: Target,
        states_of: Callable[[States], Tensor],
        logits_of: Callable[[Tensor], Tensor],
        name: str,
    ) -> None:
        self.embed = head.embed_tokens or target.model.get_input_embeddings()
        self.device = target.device
        self.states_of = states_of
        self.logits_of = logits_of
        self.name = name
        self.layers = start_layers(head)
        self.rows = 0  # number of rows of the text in the cache
        self.waiting: list[tuple[States, list[int]]] = []  # states not read yet, and tokens
        self.paths: dict[int, list[int]] = {}  # rows of each node's path, including its own
        self.outputs: dict[int, Tensor] = {}  # for each node, the head's output (h,)
        self.passes = 0
        self.work = Work()

    @property
    def memory(self) -> Memory | None:
        """Implement `HeadReader.memory`."""
        return self.layers.cache.memory

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `HeadReader.add_states`; the states are read with the next text."""
        self.waiting.append((states, list(tokens)))

    def plan_text(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Implement `HeadReader.plan_text`."""
        # Raises ValueError if the states do not match the text.
        length = len(context)
        if not self.waiting:
            raise ValueError("There is no new token to read.")
        states = torch.cat([self.states_of(states) for states, _ in self.waiting])
        tokens = [token for _, some in self.waiting for token in some]
        start = self.rows
        if not len(states) == len(tokens) == length - 1 - start:
            raise ValueError(f"{start} + {len(states)} states for a text of {length} tokens.")
        self.waiting, self.rows, self.passes = [], length - 1, 0
        self.paths = {0: []}
        self.layers.cut(start)
        cache, size = self.layers.cache, self.layers.cache.padded_rows(len(tokens))
        words = uploads.put(pad_front(torch.tensor(tokens), size))
        where = uploads.put(pad_front(torch.arange(start, self.rows), size))
        seen = torch.ones(len(tokens), self.rows, dtype=torch.bool).tril(start)
        sees = uploads.put(cache.pad_mask(seen, size))
        given = uploads.put_states(states, size)
        run = self.layers.plan(start, self.rows, size, uploads)
        self._count(Work(entry=len(tokens), body=len(tokens), head=1))

        def reading() -> Tensor:
            outputs = run(given(), self.embed(words()), where(), sees())[-1:]
            self.outputs = {0: outputs[0]}
            return self.logits_of(outputs)

        return reading

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """Implement `HeadReader.plan_level`."""
        positions, seen = level_rows(self.rows, self.paths, nodes, above)
        last, size = seen.shape[1], len(nodes)
        where, sees = uploads.put(positions), uploads.put(self.layers.cache.pad_mask(seen, size))
        run = self.layers.plan(last - size, last, size, uploads)
        self._count(Work(body=size, head=size))

        def reading(words: Tensor) -> Tensor:
            states = torch.stack([self.outputs[parent] for parent in above])
            outputs = run(states, self.embed(words), where(), sees())
            self.outputs = self.outputs | dict(zip(nodes, outputs, strict=True))
            return self.logits_of(outputs)

        return reading

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Implement `HeadReader.plan_device_levels`."""
        sight = LevelMasks(self.rows, count, levels, self.layers.cache, uploads)
        firsts = range(self.rows, self.rows + levels * count, count)
        passes = [self.layers.plan(first, first + count, count, uploads) for first in firsts]
        for _ in firsts:
            self._count(Work(body=count, head=count))
        outputs = torch.empty(0)

        def reading(depth: int, words: Tensor, above: Tensor) -> Tensor:
            nonlocal outputs
            states = (outputs if depth else self.outputs[0][None])[above]
            outputs = passes[depth](states, self.embed(words), *sight.under(depth, above))
            return self.logits_of(outputs)

        return reading

    def discard_from(self, node: int) -> None:
        """Discard the outputs of this node and all later ones."""
        self.paths = {known: path for known, path in self.paths.items() if known < node}
        self.layers.cut(self.rows + len(self.paths) - 1)

    def _count(self, work: Work) -> None:
        self.passes += 1
        self.work += work
