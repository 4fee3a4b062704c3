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
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from specviz.drafters.common.dynamic_tree import DeviceLevelPass, LevelMasks, level_rows
from specviz.drafters.common.layers import Attention, KeysValues, masked
from specviz.models.graphs import (
    MOST_ROWS,
    REACH,
    Function,
    Given,
    Memory,
    Pool,
    Recorder,
    ceil_power,
    chosen_rows,
    uses_graphs,
)
from specviz.models.numpy_layers import NumpyCache, RotaryTable, Rotation
from specviz.models.passes import States
from specviz.models.products import Array
from specviz.models.target import Target
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch

LEAST: Final = np.finfo(np.float32).min


class Layers(Protocol):
    """Runs a head's layers in one run, and caches their keys and values."""

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Add new rows to the cache and compute their outputs.

        Args:
            states: Fused states of the target, or the parents' outputs, (n, h).
            words: Embeddings of the next tokens, (n, h).
            positions: (n,), long.
            sees: Which cached rows (including the new ones) each row attends to: (n, rows), bool.

        Returns:
            The outputs, (n, h).
        """

    def cut(self, rows: int) -> None:
        """Discard the keys and values of all but the first `rows` rows."""


class TorchLayers:
    """The head's own forward method, on any device and in any precision."""

    def __init__(self, head: Any) -> None:
        self._head, self._cache = head, KeysValues()

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Implement `Layers.run`."""
        mix = self._cache.mix(sees)
        out: Tensor = self._head(states[None], words[None], positions, mix)[0]
        return out

    def cut(self, rows: int) -> None:
        """Implement `Layers.cut`."""
        self._cache.cut(rows)


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


class NumpyLayers:
    """Runs the layers in NumPy, which is faster for few rows: float32 on a CPU."""

    def __init__(self, head: NumpyHead) -> None:
        first = head.attentions[0]
        self._pass, self._table = head.numpy_pass(), RotaryTable(first.size, first.rotary)
        shared = first.shape.num_key_value_heads
        self._cache = NumpyCache(len(head.attentions), shared, first.size)

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Implement `Layers.run`."""
        mask = None
        seen = sees.numpy()
        if len(words) > 1 or not seen.all():
            mask = np.where(seen, np.float32(0.0), LEAST)
        turn = self._table.at(positions.numpy())
        with np.errstate(all="ignore"):  # NaN is detected later, in the logits
            made = self._pass(states.numpy(), words.numpy(), turn, mask, self._cache)
        return torch.from_numpy(made)

    def cut(self, rows: int) -> None:
        """Implement `Layers.cut`."""
        self._cache.cut(rows)


class GraphLayers:
    """The head's own forward method, recorded as CUDA graphs; for heads with one attention."""

    def __init__(self, head: Any) -> None:
        pool, self._recorder = _pool_of(head)
        self._head, self._pool = head, pool
        self._memory = pool.lend(self)

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Implement `Layers.run`."""
        count, last = sees.shape
        if last > self._memory.reach:
            self._memory = self._pool.grow(self, self._memory, last)
        memory = self._memory
        size, reach = ceil_power(count), max(REACH, ceil_power(last))
        given = [
            Given(states, (size, states.shape[1])),
            Given(words, (size, words.shape[1])),
            Given(positions, (size,)),
            Given(sees, (size, reach), rest=False),
            Given(last - count),
            Given(count),
        ]
        if count <= MOST_ROWS:
            function = self._recordable(memory, size)
            found = self._recorder.run(memory.recordings, (size, reach), function, given)
            if found is not None:
                return found[0][:count].clone()
        slots = torch.arange(last - count, last, device=sees.device)
        return self._compute(memory, states, words, positions, sees, slots)

    def _recordable(self, memory: Memory, size: int) -> Function:
        def function(*inputs: Tensor) -> tuple[Tensor, ...]:
            *rows, first, count = inputs
            slots = chosen_rows(memory, size, first, count)
            return (self._compute(memory, *rows, slots),)

        return function

    def _compute(self, memory: Memory, *inputs: Tensor) -> Tensor:
        states, words, positions, sees, slots = inputs

        def mix(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            memory.keys[0].index_copy_(1, slots, keys[0])
            memory.values[0].index_copy_(1, slots, values[0])
            reach = sees.shape[1]
            return masked(sees)(queries, memory.keys[:, :, :reach], memory.values[:, :, :reach])

        out: Tensor = self._head(states[None], words[None], positions, mix)[0]
        return out

    def cut(self, rows: int) -> None:
        """Implement `Layers.cut`: the mask of the next rows hides those that were discarded."""


_POOLS: WeakKeyDictionary[Any, tuple[Pool[GraphLayers], Recorder]] = WeakKeyDictionary()


def _pool_of(head: Any) -> tuple[Pool[GraphLayers], Recorder]:
    """Return the memories of a head, which all its runs share."""
    if head not in _POOLS:
        [attention] = head.attentions
        weight: Tensor = attention.k_proj.weight
        heads, size = attention.shape.num_key_value_heads, attention.size

        def allocate(reach: int) -> Memory:
            keys = weight.new_zeros(1, heads, reach + 1, size)
            return Memory(keys, torch.zeros_like(keys))

        _POOLS[head] = Pool(allocate), Recorder()
    return _POOLS[head]


def start_layers(head: Any) -> Layers:
    """Return a head's layers: recorded on CUDA, in NumPy if its products are optimized for it."""
    attentions: Sequence[Attention] = getattr(head, "attentions", [])
    if attentions and all(each.fast is not None for each in attentions):
        return NumpyLayers(head)
    if len(attentions) == 1 and uses_graphs(attentions[0].k_proj.weight.device):
        return GraphLayers(head)
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
        work: Rows computed since the counter was last reset.
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

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `HeadReader.add_states`; the states are read with the next text."""
        self.waiting.append((states, list(tokens)))

    def plan_text(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Implement `HeadReader.plan_text`.

        Raises:
            ValueError: If the states do not match the text.
        """
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
        words = uploads.put(torch.tensor(tokens))
        where = uploads.put(torch.arange(start, self.rows))
        sees = uploads.put(torch.ones(len(tokens), self.rows, dtype=torch.bool).tril(start))

        def reading() -> Tensor:
            self.work += Work(entry=len(tokens))
            outputs = self._pass(states, words(), where(), sees())[-1:]
            self.outputs = {0: outputs[0]}
            return self._logits(outputs)

        return reading

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """Implement `HeadReader.plan_level`."""
        where, seen = map(uploads.put, level_rows(self.rows, self.paths, nodes, above))

        def reading(words: Tensor) -> Tensor:
            states = torch.stack([self.outputs[parent] for parent in above])
            outputs = self._pass(states, words, where(), seen())
            self.outputs |= dict(zip(nodes, outputs, strict=True))
            return self._logits(outputs)

        return reading

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Implement `HeadReader.plan_device_levels`."""
        sight = LevelMasks(self.rows, count, levels, uploads)
        outputs: Tensor | None = None

        def reading(words: Tensor, above: Tensor) -> Tensor:
            nonlocal outputs
            states = (self.outputs[0][None] if outputs is None else outputs)[above]
            outputs = self._pass(states, words, *sight.under(above))
            return self._logits(outputs)

        return reading

    def discard_from(self, node: int) -> None:
        """Discard the outputs of this node and all later ones."""
        self.paths = {known: path for known, path in self.paths.items() if known < node}
        self.layers.cut(self.rows + len(self.paths) - 1)

    def _pass(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Compute outputs (n, h) of new rows; `sees` (n, rows), bool, is their attention mask."""
        self.passes += 1
        self.work += Work(body=len(words))
        return self.layers.run(states, self.embed(words), positions, sees)

    def _logits(self, outputs: Tensor) -> Tensor:
        self.work += Work(head=len(outputs))
        return self.logits_of(outputs)
