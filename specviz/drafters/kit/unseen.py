"""Levels of a dynamic tree that are made before the host has read the one above them.

Rule: where a read makes the host wait, the device itself picks those to go on from: the likeliest
of a level by their totals, none that ends a text, as `Growth` picks them. It may pick more (what
falls out of the budget is not known there), never others; what the tree is, `Growth` says, once the
host has read all levels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specviz.drafters.kit.growth import Growth, likely, told
from specviz.verification.transfer import UploadBatch, to_host

Deeper = Callable[[Tensor, Tensor], Tensor]  # tokens (n,), by each its row above: logits (n, V)


class Sight:
    """Who sees whom, and where each stands, in levels of so many nodes under a text.

    rows: of the text, which every node sees all of; the root is its last token.
    """

    def __init__(self, rows: int, many: int, levels: int, parcel: UploadBatch) -> None:
        self._many = many
        self._where = parcel.put(torch.arange(rows, rows + levels))
        self._own = parcel.put(torch.eye(many, dtype=torch.bool))
        self._text = parcel.put(torch.ones(1, rows, dtype=torch.bool))
        self._sees: Tensor | None = None
        self._depth = 0

    def under(self, above: Tensor) -> tuple[Tensor, Tensor]:
        """The next level's positions (n,), and which rows each sees, its own level's included.

        above: (n,), by node, which of the level before it stands under.
        """
        before = self._text() if self._sees is None else self._sees
        self._sees = torch.cat([before[above], self._own()], dim=1)
        self._depth += 1
        return self._where()[self._depth - 1].expand(self._many), self._sees


@dataclass(slots=True)
class Picking:
    """Levels in the making. many: how many nodes of a level are gone on from. ends: tokens, there.

    asked: by level, the logs (n, k) of the guesses under its nodes, and their tokens; picks: by
    level but the first, which of the guesses above its nodes are, in the order of a flat (n, k).
    """

    many: int
    ends: Tensor
    asked: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    picks: list[Tensor] = field(default_factory=list)
    totals: Tensor | None = None  # (n, 1), of the newest level's nodes

    def guess(self, logits: Tensor) -> None:
        """Put guesses under the newest level's nodes. logits: (n, V)."""
        self.asked.append(likely(logits, self.many))

    def pick(self) -> tuple[Tensor, Tensor]:
        """The nodes to go on from: their tokens (n,), and by each which of the level it is under.

        Of equals, the older.
        """
        logs, ids = self.asked[-1]
        under = logs.clamp(max=0) if self.totals is None else self.totals + logs.clamp(max=0)
        ended = (ids[..., None] == self.ends).any(-1)
        able = under.masked_fill(ended, -torch.inf).flatten()
        best = able.sort(descending=True, stable=True).indices[: self.many]
        self.picks.append(best)
        self.totals = able[best][:, None]
        return ids.flatten()[best], best // ids.shape[-1]

    def read(self) -> Iterator[tuple[Tensor, Tensor, list[int]]]:
        """By level, logs and tokens on the host, and the picks from it; all read at once."""
        flat = [each for pair in self.asked for each in pair]
        values = iter(to_host(*flat, *self.picks))
        pairs = [(next(values), next(values)) for _ in self.asked]
        picks = [[int(place) for place in each] for each in values]
        return ((*pair, some) for pair, some in zip(pairs, [*picks, []], strict=True))


def replay(growth: Growth, picking: Picking, wanted: Iterator[list[int]], who: str) -> None:
    """Grow the tree of what was read. wanted: `Growth.levels`. who: gave them. Raises BadScores."""
    rows = {0: 0}  # by node to go on from, its row in its level
    for nodes, (logs, ids, picks) in zip(wanted, picking.read(), strict=False):
        some, first = [rows[node] for node in nodes], len(growth.tokens)
        found = told(logs[some], ids[some], who)
        growth.spread(nodes, found)
        kids = iter(range(first, len(growth.tokens)))
        numbers = {
            (row, rank): next(kids)
            for row, (tokens, _) in zip(some, found, strict=True)
            for rank in range(len(tokens))
        }
        places = [divmod(place, logs.shape[-1]) for place in picks]
        rows = {numbers[place]: row for row, place in enumerate(places) if place in numbers}
