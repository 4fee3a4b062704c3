"""A tree that grows from its likeliest guesses (EAGLE-2, 2406.16858): a pool, and the best of it.

Rule: a total is one number a node, the same for whoever expands, keeps or draws; how it is computed
(a sum of logs or a product, and in which precision) is data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import torch
from torch import Tensor

from specviz.verification.distributions import check_finite
from specviz.verification.transfer import UploadBatch, to_host
from specviz.verification.tree import DraftTree, subtree


class Foresight(Protocol):
    """A session that can say what it thinks follows any node, so that any tree can grow on it.

    deepest: how many levels of guesses it can see.
    """

    deepest: int

    def after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Logits (n, V) of what follows these nodes; [0] comes first and begins anew.

        tokens, parents: by node, of a tree in which whole levels were asked about before, in order.
        """
        ...


@dataclass(frozen=True, slots=True)
class Totals:
    """How the total of a path follows from its log-probabilities: summed, or multiplied as chances.

    Every step is rounded to `dtype`, as a loop on a GPU rounds it.
    """

    how: Literal["sum", "product"]
    dtype: torch.dtype

    @property
    def root(self) -> float:
        """The total of the empty path."""
        return 0.0 if self.how == "sum" else 1.0

    def under(self, totals: Sequence[float], logs: Tensor) -> list[float]:
        """The totals of children. totals: by child, its parent's, or one for all. logs: (n,)."""
        above = torch.tensor(totals, dtype=self.dtype, device=logs.device)
        if self.how == "sum":
            return (above + logs.to(self.dtype)).tolist()
        exact = logs.double() if self.dtype is torch.float64 else logs
        return (above * exact.exp().to(self.dtype)).tolist()


SUMS: Final = Totals("sum", torch.float32)
Guesses = tuple[Sequence[int], Tensor]  # tokens, likeliest first, and their log-probabilities


@dataclass(slots=True)
class Growth:
    """A pool of guesses of which the likeliest become the draft tree.

    By node, in the order made: token, parent, depth, and total. Totals of runs are sums of float32
    logs, not products, and not of half precision, where many of them tie.
    """

    tokens: list[int]  # [root] to begin with, as the others
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    totals: list[float] = field(default_factory=list)
    kind: Totals = SUMS
    # The likeliest so far, and what they were chosen from: (budget, nodes seen), so that a level
    # is weighed against those alone and not against the whole pool again.
    _top: list[int] = field(default_factory=list)
    _of: tuple[int, int] = (0, 1)
    _deepest: int = 0

    def __post_init__(self) -> None:
        self.totals = self.totals or [self.kind.root]

    def levels(
        self, most: int, width: int, budget: int, ends: Collection[int]
    ) -> Iterator[list[int]]:
        """The nodes to go on from, level by level; whoever asks adds their guesses in between."""
        level = [0]
        for depth in range(most):
            if depth:
                level = self.frontier(width, budget, ends)
            if not level:
                return
            yield level

    def add(self, parent: int, tokens: Sequence[int], log_probs: Tensor) -> None:
        """Put guesses under `parent` in the order tried; see `spread`."""
        self.spread([parent], [(tokens, log_probs)])

    def spread(self, parents: Sequence[int], guesses: Sequence[Guesses]) -> None:
        """Put guesses under each of these nodes in the order tried. log_probs: (n,), float32.

        Raises ValueError for logs in another precision, above 0 or NaN: no parent could be sure to
        rank before its children.
        """
        logs = torch.cat([some for _, some in guesses])
        highest = float(logs.max()) if len(logs) else 0.0
        if logs.dtype is not torch.float32 or not highest <= 0.0:  # NaN is no number at most 0
            raise ValueError("Log-probabilities must be float32 and at most 0.")
        above: list[float] = []
        for parent, (tokens, _) in zip(parents, guesses, strict=True):
            many, depth = len(tokens), self.depths[parent] + 1
            self._deepest = max(self._deepest, depth if many else 0)
            above += [self.totals[parent]] * many
            self.tokens += tokens
            self.depths += [depth] * many
            self.parents += [parent] * many
        self.totals += self.kind.under(above, logs)

    def best(self, budget: int) -> list[int]:
        """The root and the `budget` likeliest guesses, likeliest first.

        Ties: the shallower, then the older, so that a node never comes without its ancestors.
        """
        known, seen = self._of
        if known != budget:
            self._top, seen = [], 1
        if seen < len(self.tokens):
            weighed = [*self._top, *range(seen, len(self.tokens))]
            weighed.sort(key=self.depths.__getitem__)  # sorting keeps ties as they are
            weighed.sort(key=self.totals.__getitem__, reverse=True)  # and so does this
            self._top, self._of = weighed[:budget], (budget, len(self.tokens))
        return [0, *self._top]

    def frontier(self, width: int, budget: int, ends: Collection[int]) -> list[int]:
        """The nodes to go on from: the `width` likeliest of the deepest level, likeliest first.

        Those that end a text are left out, and those outside the `budget` likeliest: what would
        stand under them could not be kept. Empty where growing is over.
        """
        level = [n for n in self.best(budget) if self.depths[n] == self._deepest]
        return [n for n in level if self.tokens[n] not in ends][:width]

    def tree(self, budget: int) -> tuple[DraftTree, list[int]]:
        """The `budget` likeliest guesses as a tree, and which nodes of the pool they are, likeliest
        first; the tree has them in the order made, so that parents stand before children.
        """
        best = self.best(budget)
        return subtree(self.tokens, self.parents, sorted(best)), best  # each with its ancestors


def likeliest(logits: Tensor, width: int, who: str) -> list[tuple[list[int], Tensor]]:
    """By row of logits (n, V), the `width` likeliest tokens and their logs, falling: (w,), float32.

    Tokens that are forbidden are left out: a reduced vocabulary may have fewer. Raises BadScores,
    which says whose they are.
    """
    logs, ids = to_host(*likely(logits, width))
    return told(logs, ids, who)


def likely(logits: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The logs of the likeliest tokens and the tokens, (n, width) each, where the logits are."""
    logs, ids = logits.float().log_softmax(-1).topk(min(width, logits.shape[-1]))
    return logs, ids


def told(logs: Tensor, ids: Tensor, who: str) -> list[tuple[list[int], Tensor]]:
    """The same as the host reads it; see `likeliest`. logs, ids: see `likely`."""
    check_finite(logs[:, 0].tolist(), who)
    logs = logs.clamp(max=0)
    if bool(logs.isfinite().all()):
        return list(zip(ids.tolist(), logs, strict=True))
    possible = logs.isfinite().sum(-1).tolist()
    rows = zip(logs, ids.tolist(), possible, strict=True)
    return [(tokens[:some], row[:some]) for row, tokens, some in rows]


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
