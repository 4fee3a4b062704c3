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
from functools import lru_cache
from itertools import cycle, islice

import torch
from torch import Tensor

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
