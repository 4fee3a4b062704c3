"""A small model reads a text, then a draft tree level by level, and keeps what the text took of it.

One rule: a node sees the text and its own path, nothing else, so its law is what the model would
say of that path alone (tree attention, SpecInfer 2305.09781).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.models.cache import RoomyCache
from specviz.trace.work import Work
from specviz.verification.crossing import together
from specviz.verification.tree import DraftTree


class LevelReader:
    """One run's cache over shared weights: the text's rows, then those of the last tree's nodes.

    Node n > 0 of a tree stands in row len(known) - 1 + n, since whole levels are read in order; the
    root is the text's last token. name: what errors call the model. work: rows read, until somebody
    sets it back.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model = model
        self.name = name
        self.cache = RoomyCache()
        self.work = Work()
        self.known: list[int] = []  # the tokens of the cache's first rows
        self.nodes: dict[tuple[int, int], int] = {}  # (parent, token) to node, of those read

    def text(self, context: Sequence[int]) -> Tensor:
        """Read what the cache lacks of `context`; logits (1, W) of what follows it.

        Guesses that the text took are kept, all others forgotten; one token is always read anew.
        """
        start = self._keep(self._rows_of(context[:-1]))
        self.known = list(context)
        self.nodes = {}
        return self._pass(context[start:], range(start, len(context)), None, last_only=1)

    def level(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Read the nodes of a level, whose parents were read; logits (n, W) of what follows each.

        tree: all nodes up to this level. Its tokens must differ under one parent.
        """
        self.nodes |= {(tree.parents[node], tree.tokens[node]): node for node in nodes}
        start = len(self.known) - 1
        positions = [start + tree.depths[node] for node in nodes]
        tokens = [tree.tokens[node] for node in nodes]
        return self._pass(tokens, positions, self._mask(tree, nodes))

    def _rows_of(self, text: Sequence[int]) -> list[int]:
        """The rows of the tokens in `text`, up to the first that was never read."""
        same = 0
        for old, new in zip(self.known, text, strict=False):
            if old != new:
                break
            same += 1
        rows = list(range(same))
        if same == len(self.known):
            rows += [same - 1 + node for node in self._taken(text[same:])]
        return rows

    def _taken(self, tokens: Sequence[int]) -> Iterator[int]:
        """The nodes that `tokens` lead through from the root, as far as they were read."""
        node = 0
        for token in tokens:
            if (node, token) not in self.nodes:
                return
            node = self.nodes[node, token]
            yield node

    def _keep(self, rows: list[int]) -> int:
        """Leave these rows (ascending) in the cache; their number."""
        same = min(len(rows), len(self.known))  # those of the text stay where they are
        self.cache.keep(same, rows[same:])
        return len(rows)

    def _mask(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor | None:
        """What each node of the level may see: additive, (1, 1, n, rows); None where it is all.

        A boolean mask would be silently wrong under eager attention.
        """
        if len(nodes) == 1 and tree.depths[nodes[0]] == len(tree) - 1:
            return None  # a chain so far
        past = len(self.known) - 1
        mask = torch.zeros(len(nodes), past + len(tree), dtype=self.model.dtype)
        unseen = ~tree.mask()[list(nodes)]
        mask[:, past:].masked_fill_(unseen, torch.finfo(self.model.dtype).min)
        return mask[None, None]

    def _pass(
        self,
        tokens: Sequence[int],
        positions: Iterable[int],
        mask: Tensor | None,
        last_only: int = 0,
    ) -> Tensor:
        """One forward pass; logits (n, W), of the last token alone where asked."""
        made = [torch.tensor([list(tokens), list(positions)]), *([] if mask is None else [mask])]
        rows, *masks = together(self.model.device, *made)
        out = self.model(
            input_ids=rows[:1],
            position_ids=rows[1:],
            attention_mask=masks[0] if masks else None,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=last_only,
        )
        logits: Tensor = out.logits[0]
        self.work += Work(body=len(tokens), head=len(logits))
        return logits
