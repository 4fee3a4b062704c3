"""Drafting from the target's own states: a head reads the text's states, then nodes of a tree.

Rule: row t is (state of token t, token t + 1) and speaks of token t + 2; shift one half by one and
the text stays right, but hardly any guess is kept. A guess has no state yet, so it takes its
parent's output for one; when the text keeps it, its row is read again from the true state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor

from specviz.drafters.kit.layers import Attention, KeysValues
from specviz.drafters.kit.unseen import Deeper, Sight
from specviz.models.numpy_layers import NumpyCache, RotaryTable, Rotation
from specviz.models.passes import States
from specviz.models.products import Array
from specviz.models.target import Target
from specviz.trace.work import Work
from specviz.verification.crossing import Parcel

LEAST: Final = np.finfo(np.float32).min


class Layers(Protocol):
    """One run's pass over a shared head's layers, with the run's keys and values."""

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Append new rows and compute their outputs.

        Args:
            states: Fused states of the target, or the parents' outputs, (n, h).
            words: Embeddings of the next tokens, (n, h).
            positions: (n,), long.
            sees: Which cached rows, the new ones included, each row sees: (n, rows), bool.

        Returns:
            (n, h).
        """

    def cut(self, rows: int) -> None:
        """Forget the keys and values of all but the first `rows`."""


class TorchLayers:
    """The head's own forward, on any device and in any precision."""

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


class NumpyHead(Protocol):
    """A head that also computes its layers in NumPy."""

    @property
    def attentions(self) -> list[Attention]:
        """The attention of each of its layers."""

    def compute(
        self, states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
    ) -> Array:
        """Compute outputs (n, h); see `Layers.run`. turn: of the rows. sees: additive, or None."""


class NumpyLayers:
    """The same in NumPy, whose small steps cost less than torch's: float32, on a CPU."""

    def __init__(self, head: NumpyHead) -> None:
        first = head.attentions[0]
        self._head, self._table = head, RotaryTable(first.size, first.rotary)
        shared = first.shape.num_key_value_heads
        self._cache = NumpyCache(len(head.attentions), shared, first.size)

    def run(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """Implement `Layers.run`."""
        mask = None
        seen = sees.numpy()
        if len(words) > 1 or not seen.all():
            mask = np.where(seen, np.float32(0.0), LEAST)
        turn = self._table.at(positions.numpy())
        with np.errstate(all="ignore"):  # whoever reads the logits looks for NaN
            out = self._head.compute(states.numpy(), words.numpy(), turn, mask, self._cache)
        return torch.from_numpy(out)

    def cut(self, rows: int) -> None:
        """Implement `Layers.cut`."""
        self._cache.cut(rows)


def start_layers(head: Any) -> Layers:
    """A run's pass over a head's layers: in NumPy where its products were planned for that."""
    attentions: Sequence[Attention] = getattr(head, "attentions", [])
    if attentions and all(each.fast is not None for each in attentions):
        return NumpyLayers(head)
    return TorchLayers(head)


class FeatureReader:
    """One run's cache over a shared head: the text's rows, then rows of the last tree's nodes.

    head: takes (states, words, positions, mix). states_of: the target's states as the head takes
    them, (n, h). logits_of: the head's outputs (n, h) to logits (n, V). passes: of the head, since
    the last text. work: rows read, until somebody sets it back. name: what errors call the head.
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
        self.rows = 0  # of the text, in the cache
        self.waiting: list[tuple[States, list[int]]] = []  # and the tokens that they predicted
        self.paths: dict[int, list[int]] = {}  # by node, the rows of its path, its own included
        self.outputs: dict[int, Tensor] = {}  # by node, (h,)
        self.passes = 0
        self.work = Work()

    def take(self, states: States, tokens: Sequence[int]) -> None:
        """The text has these tokens, which these states predicted. Read when next asked."""
        self.waiting.append((states, list(tokens)))

    def text(self, length: int) -> Tensor:
        """Forget the last tree, read what waits of a text of `length` tokens.

        Logits (1, V) of what follows the newest token, which is node 0 of the next tree. Raises
        ValueError where the states taken do not make up that text.
        """
        return self.opened(length, Parcel(self.device))()

    def level(self, nodes: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Read nodes whose parents were read; logits (n, V) of what follows each.

        tokens, parents: by node, of the whole tree so far.
        """
        parcel = Parcel(self.device)
        words = parcel.put(torch.tensor([tokens[node] for node in nodes]))
        reading = self.planned(nodes, [parents[node] for node in nodes], parcel)
        return reading(words())

    def opened(self, length: int, parcel: Parcel) -> Callable[[], Tensor]:
        """`text`, as what is to be called for it: what it needs of the host is in the parcel."""
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
        words = parcel.put(torch.tensor(tokens))
        where = parcel.put(torch.arange(start, self.rows))
        sees = parcel.put(torch.ones(len(tokens), self.rows, dtype=torch.bool).tril(start))

        def reading() -> Tensor:
            self.work += Work(entry=len(tokens))
            outputs = self._pass(states, words(), where(), sees())[-1:]
            self.outputs = {0: outputs[0]}
            return self._logits(outputs)

        return reading

    def planned(
        self, nodes: Sequence[int], above: Sequence[int], parcel: Parcel
    ) -> Callable[[Tensor], Tensor]:
        """`level`, as what is to be called with the nodes' tokens (n,), there.

        above: by node, its parent. What it needs of the host is in the parcel.
        """
        first = self.rows + len(self.paths) - 1
        sees = torch.zeros(len(nodes), first + len(nodes), dtype=torch.bool)
        sees[:, : self.rows] = True
        for i, (node, parent) in enumerate(zip(nodes, above, strict=True)):
            self.paths[node] = [*self.paths[parent], first + i]
            sees[i, self.paths[node]] = True
        positions = [self.rows - 1 + len(self.paths[node]) for node in nodes]
        where, seen = parcel.put(torch.tensor(positions)), parcel.put(sees)

        def reading(words: Tensor) -> Tensor:
            states = torch.stack([self.outputs[parent] for parent in above])
            outputs = self._pass(states, words, where(), seen())
            self.outputs |= dict(zip(nodes, outputs, strict=True))
            return self._logits(outputs)

        return reading

    def unseen(self, many: int, levels: int, parcel: Parcel) -> Deeper:
        """Levels of so many nodes each, after the root's, to be called level by level."""
        sight = Sight(self.rows, many, levels, parcel)
        outputs: Tensor | None = None

        def reading(words: Tensor, above: Tensor) -> Tensor:
            nonlocal outputs
            states = (self.outputs[0][None] if outputs is None else outputs)[above]
            outputs = self._pass(states, words, *sight.under(above))
            return self._logits(outputs)

        return reading

    def forget(self, node: int) -> None:
        """Nodes from this on were read in vain: they are none, or come again."""
        self.paths = {known: path for known, path in self.paths.items() if known < node}
        self.layers.cut(self.rows + len(self.paths) - 1)

    def _pass(self, states: Tensor, words: Tensor, positions: Tensor, sees: Tensor) -> Tensor:
        """The head on new rows, each seeing what `sees` (n, rows) says: outputs (n, h)."""
        self.passes += 1
        self.work += Work(body=len(words))
        return self.layers.run(states, self.embed(words), positions, sees)

    def _logits(self, outputs: Tensor) -> Tensor:
        self.work += Work(head=len(outputs))
        return self.logits_of(outputs)
