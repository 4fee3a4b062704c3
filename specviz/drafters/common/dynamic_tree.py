"""A dynamic draft tree (EAGLE-2, 2406.16858): the most probable of all guesses considered.

A guess has one score, the total log-probability of its path. The score decides which guesses are
expanded and which are kept. `PathScore` says how it is computed: as a sum of logs or as a product,
and in which precision.

Where copying a value makes the host wait, `DeviceTree` selects the nodes to expand on the device,
by the same order as `DynamicTree.frontier`. It expands all of the nodes that the host would, and
possibly more, since it does not know which ones the budget excludes. `replay` builds the
`DynamicTree` once the host has read all levels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Final, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from specviz.drafters.common.head_cache import HeadCache
from specviz.verification.distributions import check_finite
from specviz.verification.transfer import UploadBatch, to_host
from specviz.verification.tree import DraftTree, subtree


class NodePredictor(Protocol):
    """A session that predicts up to `max_depth` tokens after any node, for trees of any shape."""

    max_depth: int

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Return logits (n, V) after these nodes."""
        ...


@dataclass(frozen=True, slots=True)
class PathScore:
    """How a path is scored: a sum of logs or a product, every step rounded to `dtype`."""

    how: Literal["sum", "product"]
    dtype: torch.dtype

    @property
    def root(self) -> float:
        """The score of the empty path."""
        return 0.0 if self.how == "sum" else 1.0

    def under(self, totals: Sequence[float], logs: Sequence[float]) -> list[float]:
        """Return the scores of children.

        Args:
            totals: Score of each child's parent.
            logs: Log-probability of each child, rounded to float32 first.
        """
        if self == SUMS:  # in NumPy, which is faster than torch for few numbers
            sums: list[float] = (np.array(totals, np.float32) + np.array(logs, np.float32)).tolist()
            return sums
        of_parents = torch.tensor(totals, dtype=self.dtype)
        exact = torch.tensor(logs, dtype=torch.float32)
        if self.how == "sum":
            return (of_parents + exact.to(self.dtype)).tolist()
        exact = exact.double() if self.dtype is torch.float64 else exact
        return (of_parents * exact.exp().to(self.dtype)).tolist()


SUMS: Final = PathScore("sum", torch.float32)


@dataclass(slots=True)
class DynamicTree:
    """A set of guesses, the most probable of which become the draft tree.

    Runs use sums of float32 log-probabilities. With products or half precision, many scores would
    be equal; the Trees tab shows this. tokens: token of each node, in the order added; [root] at
    first.
    """

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    totals: list[float] = field(default_factory=list)
    kind: PathScore = SUMS
    # The most probable nodes so far, and the (budget, node count) that they were selected from.
    # A new level is compared with these nodes alone, not with all nodes again.
    _top: list[int] = field(default_factory=list)
    _of: tuple[int, int] = (0, 1)
    _deepest: int = 0

    def __post_init__(self) -> None:
        self.totals = self.totals or [self.kind.root]

    def levels(
        self, most: int, width: int, budget: int, ends: Collection[int]
    ) -> Iterator[list[int]]:
        """Yield the nodes to expand, level by level; the caller adds their guesses in between."""
        level = [0]
        for depth in range(most):
            if depth:
                level = self.frontier(width, budget, ends)
            if not level:
                return
            yield level

    def add(
        self, parents: Sequence[int], tokens: Sequence[list[int]], logs: Sequence[list[float]]
    ) -> None:
        """Add guesses under each of these nodes, in the order in which the rule will test them.

        Raises ValueError if a log-probability is above 0 or NaN; a parent might then rank after its
        children.

        Args:
            parents: The nodes.
            tokens: For each node, the tokens of its guesses.
            logs: For each node, their log-probabilities.
        """
        flat = list(chain.from_iterable(logs))
        if not all(value <= 0.0 for value in flat):  # NaN fails this comparison, too
            raise ValueError("Log-probabilities must be at most 0.")
        parent_totals: list[float] = []
        for parent, row in zip(parents, tokens, strict=True):
            size, depth = len(row), self.depths[parent] + 1
            self._deepest = max(self._deepest, depth if size else 0)
            parent_totals += [self.totals[parent]] * size
            self.tokens += row
            self.depths += [depth] * size
            self.parents += [parent] * size
        self.totals += self.kind.under(parent_totals, flat)

    def best(self, budget: int) -> list[int]:
        """Return the root and the `budget` best guesses, descending; ties go to the shallower."""
        known, seen = self._of
        if known != budget:
            self._top, seen = [], 1
        if seen < len(self.tokens):
            weighed = [*self._top, *range(seen, len(self.tokens))]
            weighed.sort(key=self.depths.__getitem__)  # the sort is stable
            weighed.sort(key=self.totals.__getitem__, reverse=True)  # this sort is stable, too
            self._top, self._of = weighed[:budget], (budget, len(self.tokens))
        return [0, *self._top]

    def frontier(self, width: int, budget: int, ends: Collection[int]) -> list[int]:
        """Return the nodes to expand: the `width` most probable nodes of the deepest level.

        Nodes that end a text are left out. So are nodes outside the `budget` most probable guesses,
        because their children cannot be among these guesses either. The result is empty when the
        tree is complete.
        """
        level = [n for n in self.best(budget) if self.depths[n] == self._deepest]
        return [n for n in level if self.tokens[n] not in ends][:width]

    def tree(self, budget: int) -> tuple[DraftTree, list[int]]:
        """Return the `budget` most probable guesses as a tree, and their node numbers in this tree.

        The returned tree keeps the order in which nodes were added, so parents come before
        children; the list of numbers is in descending order of score.
        """
        best = self.best(budget)
        return subtree(self.tokens, self.parents, sorted(best)), best  # with their ancestors


def top_log_probs(logits: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the highest log-probabilities and their tokens, (n, width) each, on the device."""
    logs, ids = logits.float().log_softmax(-1).topk(min(width, logits.shape[-1]))
    return logs, ids


def rank_tokens(logits: Tensor, width: int, name: str) -> tuple[list[list[int]], list[list[float]]]:
    """Return the `width` most probable tokens of logits (n, V), and their log-probabilities.

    Returns both by row, in descending order; fewer where fewer are possible, as with a reduced
    vocabulary. Raises BadScores, with the model's name, if the logits are not finite.
    """
    logs, ids = to_host(*top_log_probs(logits, width))
    return split_rows(logs, ids, name)


def split_rows(logs: Tensor, ids: Tensor, name: str) -> tuple[list[list[int]], list[list[float]]]:
    """Return the result of `rank_tokens`, given that of `top_log_probs` on the host."""
    values = logs.tolist()
    check_finite([row[0] for row in values], name)
    possible = [[min(value, 0.0) for value in row if value != -inf] for row in values]
    return [row[: len(some)] for row, some in zip(ids.tolist(), possible, strict=True)], possible


# Maps a level below the root, counted from 0, its tokens (n,), and each one's parent as a row of
# the level above (n,), to logits (n, V). Levels run in order.
DeviceLevelPass = Callable[[int, Tensor, Tensor], Tensor]


def level_rows(
    rows: int, paths: dict[int, list[int]], nodes: Sequence[int], above: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Return a level's positions (n,) and its attention mask (n, rows) bool, on the host.

    Args:
        rows: Rows of the text, the root being its last token; every node attends to all of them.
        paths: For each node read before, the rows of its path, its own included, without the
            root's; the new nodes are added.
        nodes: The nodes.
        above: The parent of each node.
    """
    first = rows + len(paths) - 1
    sees = np.zeros((len(nodes), first + len(nodes)), bool)
    sees[:, :rows] = True
    for i, (node, parent) in enumerate(zip(nodes, above, strict=True)):
        paths[node] = [*paths[parent], first + i]
        sees[i, paths[node]] = True
    positions = [rows - 1 + len(paths[node]) for node in nodes]
    return torch.tensor(positions), torch.from_numpy(sees)


class LevelMasks:
    """Positions and attention masks of levels with a fixed number of nodes, computed on the device.

    Args:
        rows: Rows of the text, the root being its last token; every node attends to all of them.
        width: Nodes per level.
        cache: The cache of the nodes' rows, which follow those of the text level by level.
    """

    def __init__(
        self, rows: int, width: int, levels: int, cache: HeadCache, uploads: UploadBatch
    ) -> None:
        last = rows + levels * width
        self._where = uploads.put(torch.arange(rows, rows + levels)[:, None].repeat(1, width))
        self._rows = uploads.put(torch.arange(rows, last).view(levels, width))
        self._own = uploads.put(torch.eye(width, dtype=torch.bool))
        self._text = uploads.put(cache.pad_mask(torch.arange(last)[None] < rows, 1))
        self._visible = torch.empty(0)

    def under(self, depth: int, parents: Tensor) -> tuple[Tensor, Tensor]:
        """Return a level's positions (n,) and its attention mask (n, rows) bool.

        Args:
            depth: The level below the root, counted from 0; levels are requested in order.
            parents: Row of each node's parent in the level above, (n,).
        """
        before = self._visible if depth else self._text()
        self._visible = before[parents].index_copy(1, self._rows()[depth], self._own())
        return self._where()[depth], self._visible


@dataclass(slots=True)
class DeviceTree:
    """Levels of a dynamic tree that are computed on the device and not yet copied to the host.

    Attributes:
        width: Nodes expanded per level.
        ends: Tokens that end a text, on the device.
        pending: For each level, the log-probabilities (n, k) of the guesses under its nodes, and
            the tokens of these guesses.
        picks: For each level from the second on, its nodes, as indices into the flattened (n, k)
            guesses of the level above.
        totals: Scores of the newest level's nodes, (n, 1).
    """

    width: int
    ends: Tensor
    pending: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    picks: list[Tensor] = field(default_factory=list)
    totals: Tensor | None = None

    def guess(self, logits: Tensor) -> None:
        """Add guesses under the newest level's nodes, given their logits (n, V)."""
        self.pending.append(top_log_probs(logits, self.width))

    def pick(self) -> tuple[Tensor, Tensor]:
        """Return tokens (n,) and parents' rows of the nodes to expand; ties go to the older."""
        logs, ids = self.pending[-1]
        under = logs.clamp(max=0) if self.totals is None else self.totals + logs.clamp(max=0)
        ended = (ids[..., None] == self.ends).any(-1)
        able = under.masked_fill(ended, -torch.inf).flatten()
        best = able.sort(descending=True, stable=True).indices[: self.width]
        self.picks.append(best)
        self.totals = able[best][:, None]
        return ids.flatten()[best], best // ids.shape[-1]

    @property
    def tensors(self) -> list[Tensor]:
        """What `read_levels` needs on the host."""
        return [*(each for pair in self.pending for each in pair), *self.picks]


def read_levels(values: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor, list[int]]]:
    """Return log-probabilities, tokens and picks of the levels of a `DeviceTree`."""
    count = (len(values) + 1) // 3
    flat, picks = values[: 2 * count], [list(map(int, each)) for each in values[2 * count :]]
    return zip(flat[::2], flat[1::2], [*picks, []], strict=True)


def replay(
    grown: DynamicTree, values: Sequence[Tensor], wanted: Iterator[list[int]], name: str
) -> None:
    """Build the `DynamicTree` of the levels that were computed on the device.

    Raises BadScores if the logits are not finite.

    Args:
        grown: The tree to fill.
        values: The levels computed on the device; see `read_levels`.
        wanted: The iterator of `DynamicTree.levels`, which yields the nodes to expand.
        name: Name of the model in error messages.
    """
    rows = {0: 0}  # row in its level of each node to expand
    for nodes, (logs, ids, picks) in zip(wanted, read_levels(values), strict=False):
        rows_read, first = [rows[node] for node in nodes], len(grown.tokens)
        tokens, found = split_rows(logs[rows_read], ids[rows_read], name)
        grown.add(nodes, tokens, found)
        kids = iter(range(first, len(grown.tokens)))
        numbers = {
            (row, rank): next(kids)
            for row, own in zip(rows_read, tokens, strict=True)
            for rank in range(len(own))
        }
        places = [divmod(place, logs.shape[-1]) for place in picks]
        rows = {numbers[place]: row for row, place in enumerate(places) if place in numbers}
