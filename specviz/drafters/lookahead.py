"""Lookahead's window: guesses at the next places of the text, each level made by the one before.

A Jacobi iteration (2402.02057): every place is guessed at once, each guess follows from the ones of
the pass before, and what a place's guesses were in N - 1 passes reads, with the newest, as an
n-gram. Columns are places, levels are passes. Row (l, i) stands l + i after the root; column 0 of
level 0 is the root itself, so it is no row. As in the authors' code (hao-ai-lab/LookaheadDecoding):
the first pass has W + N - 3 rows of level 0, each of the next N - 2 adds a level and loses a
column, and from then on every pass drops the oldest level; the window moves one place a pass,
however many tokens were kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.base import Weightless
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree

NGram = tuple[int, ...]


class Window:
    """Tokens by level and column; no model, no tensors.

    Where the authors take random tokens of the prompt, to begin with and in place of an
    end-of-text, this takes the prompt's tokens in their order, round and round, so that a run is
    the same every time.
    """

    def __init__(self, prompt: Sequence[int], width: int, ngram: int, ends: Sequence[int]) -> None:
        """width: W. ngram: N, 3 or more. ends: tokens after which nothing can follow."""
        self.width = width
        self.ngram = ngram
        self.ends = ends
        self.filler = cycle([token for token in prompt if token not in ends] or list(prompt))
        self.levels = [[prompt[-1], *islice(self.filler, width + ngram - 3)]]

    @property
    def columns(self) -> int:
        """Columns, the root's included; W once the window is full."""
        return len(self.levels[-1])

    @property
    def full(self) -> bool:
        """Whether all N - 1 levels are there, so that the next pass makes n-grams."""
        return len(self.levels) == self.ngram - 1

    @property
    def reach(self) -> int:
        """How far after the root the furthest row stands."""
        return len(self.levels) + self.columns - 2

    def rows(self) -> list[list[int]]:
        """The tokens that ride in a pass, by level; the root rides anyway."""
        return [self.levels[0][1:], *(list(level) for level in self.levels[1:])]

    def advance(self, newest: Sequence[int]) -> list[NGram]:
        """A pass said what follows each row of the last level; the n-grams of N that this gives.

        By column, the root's first; none while the window fills.
        """
        found: list[NGram] = []
        if self.full:
            found = list(zip(*self.levels, newest, strict=True))
            self.levels = [*self.levels[1:], self._endless(newest)]
        else:
            left = 1 - self.columns  # level 0 has no row at the root's column, so no guess for it
            self.levels = [level[1:] for level in self.levels]
            self.levels.append(self._endless(newest[left:]))
        return found

    def stand(self, root: int) -> None:
        """The text's last token is this: column 0 of level 0."""
        self.levels[0][0] = root

    def _endless(self, tokens: Sequence[int]) -> list[int]:
        """No end-of-text stands inside the window, since nothing could follow it."""
        return [next(self.filler) if token in self.ends else token for token in tokens]


def places(columns: int, levels: int) -> Iterator[tuple[int, int]]:
    """(level, column) of every row, in the order in which they ride."""
    for level in range(levels):
        for column in range(0 if level else 1, columns):
            yield level, column


@lru_cache(maxsize=64)
def visible(columns: int, levels: int) -> Tensor:
    """(m, m) bool: which rows each row sees, beside the root and the text before it.

    Row (l, i) reads level 0 up to its own column, then its own column's levels up to itself: one
    row for each place between the root and its own, so it reads them as a text.
    """
    rows = list(places(columns, levels))
    return torch.tensor(
        [
            [at <= column if above == 0 else at == column and above <= level for above, at in rows]
            for level, column in rows
        ],
        dtype=torch.bool,
    ).reshape(len(rows), len(rows))


@dataclass(frozen=True, slots=True)
class Found:
    """An n-gram, and where it was found last: in which round, in which column of the window."""

    tokens: tuple[int, ...]
    round: int
    column: int


class Pool:
    """One run's n-grams; at most `guesses` (G) for each first token."""

    def __init__(self, guesses: int) -> None:
        self.guesses = guesses
        self.by_first: dict[int, dict[tuple[int, ...], Found]] = {}  # the oldest first

    def __len__(self) -> int:
        return sum(map(len, self.by_first.values()))

    def add(self, found: Found) -> None:
        """Put an n-gram in, as the newest of its first token; the oldest gives way to a G + 1st."""
        kept = self.by_first.setdefault(found.tokens[0], {})
        kept.pop(found.tokens, None)
        kept[found.tokens] = found
        if len(kept) > self.guesses:
            del kept[next(iter(kept))]

    def after(self, token: int) -> list[Found]:
        """The n-grams that begin with `token`, the oldest first."""
        return list(self.by_first.get(token, {}).values())


def merged(
    root: int, ngrams: Sequence[Found], depth: int, ends: Sequence[int]
) -> tuple[DraftTree, list[int]]:
    """The n-grams, which begin with `root`, as one tree: common beginnings are common nodes.

    No deeper than `depth`, nothing after one of `ends`; siblings stand in the order of `ngrams`.
    The list says, for node 1 and on, which of `ngrams` put it there.
    """
    tokens, parents, origins = [root], [-1], []
    known: dict[tuple[int, int], int] = {}
    for index, ngram in enumerate(ngrams):
        node = 0
        for token in ngram.tokens[1 : depth + 1]:
            if (node, token) not in known:
                known[node, token] = len(tokens)
                tokens.append(token)
                parents.append(node)
                origins.append(index)
            node = known[node, token]
            if token in ends:
                break
    return DraftTree(tuple(tokens), tuple(parents)), origins


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How much rides. window: W, its width. ngram: N, tokens in an n-gram. guesses: G, n-grams that
    are tried in a pass.
    """

    window: int = 5
    ngram: int = 4
    guesses: int = 5

    @classmethod
    def of(cls, settings: Settings) -> WindowShape:
        """What the settings say."""
        return cls(settings.lookahead_window, settings.lookahead_ngram, settings.lookahead_guesses)


class Lookahead(Weightless):
    """Fits any target; nothing to load."""

    name = "lookahead"

    def begin(self, target: TargetRun, settings: Settings) -> LookaheadSession:
        """Implement `Drafter.begin`."""
        return LookaheadSession(target, WindowShape.of(settings))


class LookaheadSession:
    """One run's window and pool, both empty at its start."""

    drawn = Drawn.POINT_MASS

    def __init__(self, target: TargetRun, shape: WindowShape) -> None:
        self.ends = target.target.eos
        self.max_length = target.target.max_length
        self.shape = shape
        self.branches = shape.guesses > 1
        self.pool = Pool(shape.guesses)
        self.window: Window | None = None  # from the first proposal on, which sees the prompt
        self.round = 0

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        Evidence by node: which of the n-grams below put it there, and in
        which round and column of the window that was found.

        Under 0: pool, how many n-grams it has; ngrams, those tried, their first token the text's
        last; filling, whether the window is still too low to give any; window, the rows that ride,
        by level; rows_verified and rows_window, the rows that this pass has beside the root's.
        """
        self.round = chance.round
        if self.window is None:
            self.window = Window(context[:-1], self.shape.window, self.shape.ngram, self.ends)
        self.window.stand(context[-1])
        ngrams = self.pool.after(context[-1])
        tree, origins = merged(context[-1], ngrams, max_tokens - 1, self.ends)
        extra_rows = self._riders(self.window, len(tree), len(context), max_tokens)
        evidence: dict[int, dict[str, Any]] = {
            node: {"ngram": at, "round": ngrams[at].round, "column": ngrams[at].column}
            for node, at in enumerate(origins, 1)
        }
        evidence[0] = {
            "form": "lookahead",
            "pool": len(self.pool),
            "ngrams": [list(ngram.tokens) for ngram in ngrams] if origins else [],
            "filling": not self.window.full,
            "window": self.window.rows() if extra_rows else [],
            "rows_verified": len(origins),
            "rows_window": len(extra_rows.tokens) if extra_rows else 0,
        }
        shown = [token for row in evidence[0]["window"] + evidence[0]["ngrams"] for token in row]
        return Proposal(
            tree,
            Drawn.POINT_MASS,
            evidence=evidence,
            extra_rows=extra_rows,
            shown=shown,
            work=Work(),
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`.

        The riders' top tokens move the window on and fill the pool.
        """
        if self.window is None or extra_rows is None or extra_rows.logits is None:
            return
        newest = extra_rows.logits[-self.window.columns :].argmax(dim=-1).tolist()
        for column, ngram in enumerate(self.window.advance(newest)):
            self.pool.add(Found(ngram, self.round, column))

    def _riders(self, window: Window, nodes: int, length: int, max_tokens: int) -> ExtraRows | None:
        """The window's rows for a tree of `nodes`; none in a run's certainly last pass, or where
        they would stand past the last position that the target can see."""
        if max_tokens == 1 or length - 1 + window.reach >= self.max_length:
            return None
        levels, columns = len(window.levels), window.columns
        tokens = tuple(token for level in window.rows() for token in level)
        positions = tuple(level + column for level, column in places(columns, levels))
        seen = torch.zeros(len(tokens), nodes, dtype=torch.bool)
        seen[:, 0] = True  # of the tree the root alone, never a guess
        return ExtraRows(tokens, positions, torch.cat([seen, visible(columns, levels)], dim=1))
