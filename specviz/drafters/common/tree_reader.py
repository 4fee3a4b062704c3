"""Reads a text and then a draft tree with a small model; caches the rows of accepted guesses.

A node attends only to the text and its own path, so its distribution is the same as if the model
read this path alone (tree attention, SpecInfer 2305.09781).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.models.attention import layer_masks
from specviz.models.graphs import Memory, pad_front, padded_rows
from specviz.models.network import KeyValueCache, fixed_memory, network_of, plan_rows
from specviz.models.passes import CaptureSpec, Rows
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


class TreeReader:
    """A model's cache in one run: rows of the text, then rows of the last tree's nodes.

    Node n > 0 of a tree is in row len(known) - 1 + n, since whole levels are read in order; the
    root is the text's last token. tree: the last draft; comparing it with a new text shows which
    nodes were accepted.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model = model
        self.name = name
        self.network = network_of(model)
        self.cache: KeyValueCache = self.network.new_cache()
        self.masks = layer_masks(model)
        self.work = Work()
        self.known: list[int] = []  # tokens in the first rows of the cache
        self.paths: dict[int, list[int]] = {}  # nodes on each read node's path from the root
        self.tree = DraftTree((0,), (-1,))

    @property
    def memory(self) -> Memory | None:
        """The cache's memory, if it is fixed."""
        return fixed_memory(self.cache)

    def read_text(self, context: Sequence[int]) -> Tensor:
        """Read what is not cached of `context`; keep accepted guesses; return logits (1, W)."""
        return self.plan_text(context, UploadBatch(self.model.device))()

    def plan_text(
        self, context: Sequence[int], uploads: UploadBatch, masks: Sequence[int] = ()
    ) -> Callable[[], Tensor]:
        """Prepare `read_text`, and return a function that runs it.

        masks: tokens that are read after the text and not kept; each adds a row of logits.
        """
        start = self._keep(self._rows_of(context[:-1]))
        self.known, self.paths = list(context), {0: [0]}
        self.tree = DraftTree((context[-1],), (-1,))
        read, count = [*context[start:], *masks], 1 + len(masks)
        size = padded_rows(len(read)) if self.memory else len(read)
        words = uploads.put(pad_front(torch.tensor(read), size))
        positions = pad_front(torch.arange(start, start + len(read)), size, -1)
        rows = plan_rows(self.cache, positions, [], uploads)
        self.work += Work(body=len(read), head=count)
        return lambda: self._pass(words(), rows(), last_only=count)

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> Callable[[Tensor], Tensor]:
        """Prepare a pass over nodes whose parents were read: from tokens (n,) to logits (n, W)."""
        for node, parent in zip(nodes, above, strict=True):
            self.paths[node] = [*self.paths[parent], node]
        start = len(self.known) - 1
        positions = torch.tensor([start + len(self.paths[node]) - 1 for node in nodes])
        masks = self.masks.split(self._mask(nodes))
        rows = plan_rows(self.cache, positions, masks, uploads)
        self.work += Work(body=len(nodes), head=len(nodes))
        return lambda words: self._pass(words, rows())

    def discard_from(self, node: int) -> None:
        """Discard the cached rows of this node and all later ones."""
        self.paths = {known: path for known, path in self.paths.items() if known < node}
        self.cache.cut(len(self.known) - 1 + len(self.paths))

    def _rows_of(self, text: Sequence[int]) -> list[int]:
        same = 0
        for old, new in zip(self.known, text, strict=False):
            if old != new:
                break
            same += 1
        rows = list(range(same))
        if same == len(self.known):
            rows += [same - 1 + node for node in self._accepted_nodes(text[same:])]
        return rows

    def _accepted_nodes(self, tokens: Sequence[int]) -> Iterator[int]:
        node = 0
        for token in tokens:
            under = {self.tree.tokens[kid]: kid for kid in self.tree.children[node]}
            node = under.get(token, -1)
            if node not in self.paths:
                return
            yield node

    def _keep(self, rows: list[int]) -> int:
        # rows: ascending. Returns the number kept.
        same = min(len(rows), len(self.known))  # rows of the text keep their place
        self.cache.keep(same, rows[same:])
        return len(rows)

    def _mask(self, nodes: Sequence[int]) -> Tensor | None:
        # Additive, (1, 1, n, rows): eager attention would silently misread a boolean mask.
        count = nodes[-1] + 1
        if len(nodes) == 1 and len(self.paths[nodes[0]]) == count:
            return None  # so far the tree is a chain
        past, dtype = len(self.known) - 1, self.model.dtype
        mask = torch.zeros(len(nodes), past + count, dtype=dtype)
        mask[:, past:] = torch.finfo(dtype).min
        for i, node in enumerate(nodes):
            mask[i, [past + seen for seen in self.paths[node]]] = 0.0
        return mask[None, None]

    def _pass(self, words: Tensor, rows: Rows, last_only: int = 0) -> Tensor:
        # Logits (n, W), or only the last row's.
        made = self.network.forward(words[None], rows, self.cache, CaptureSpec(), last_only)
        return made.logits
