"""Lookahead decoding (2402.02057): the pass that verifies guesses also prepares new ones.

A window is a set of extra rows in every pass of the target. The target's predictions at these rows
are collected as n-grams in a pool. The n-grams that begin with the text's last token are the
guesses. The window always takes the target's top tokens, at any temperature, so the guesses do not
depend on u: a point mass. There is no model and no training; the cost is the extra rows.

The window computes a Jacobi iteration: all positions are guessed at once, each from the guesses of
the previous pass. Its columns are positions, its levels are passes. The guesses in a column over N
- 1 passes, with the newest prediction, form an n-gram. Row (l, i) is l + i positions after the
root; column 0 of level 0 is the root itself and not a row. As in the authors' code
(hao-ai-lab/LookaheadDecoding), the first pass has W + N - 3 rows of level 0. Each of the next N - 2
passes adds a level and removes a column. From then on every pass drops the oldest level. The window
moves one position per pass, however many tokens were accepted.
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
from specviz.drafters.common.session import Session
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.lookup import merge_ngrams
from specviz.trace.work import Work
from specviz.verification.tree import DraftTree

NGram = tuple[int, ...]


class Window:
    """The tokens of the window, by level and column.

    At the start, and in place of end-of-text tokens, the authors use random tokens of the prompt.
    Here the prompt's tokens are used in order, again and again, so that a run can be reproduced.

    Args:
        width: The paper's W.
        ngram: The paper's N, at least 3.
    """

    def __init__(self, prompt: Sequence[int], width: int, ngram: int, ends: Sequence[int]) -> None:
        """Fill level 0 with the prompt's tokens."""
        self.width = width
        self.ngram = ngram
        self.ends = ends
        self.filler = cycle([token for token in prompt if token not in ends] or list(prompt))
        self.levels = [[prompt[-1], *islice(self.filler, width + ngram - 3)]]

    @property
    def columns(self) -> int:
        """Number of columns, including the root's; W once the window is full."""
        return len(self.levels[-1])

    @property
    def full(self) -> bool:
        """Whether all N - 1 levels exist, in which case the next pass yields n-grams."""
        return len(self.levels) == self.ngram - 1

    @property
    def reach(self) -> int:
        """Distance of the furthest row from the root."""
        return len(self.levels) + self.columns - 2

    def rows(self) -> list[list[int]]:
        """Return the tokens of the window's rows, level by level, without the root."""
        return [self.levels[0][1:], *(list(level) for level in self.levels[1:])]

    def advance(self, newest: Sequence[int]) -> list[NGram]:
        """Add the last level's predictions; return new n-grams of size N, once it is full."""
        found: list[NGram] = []
        if self.full:
            found = list(zip(*self.levels, newest, strict=True))
            self.levels = [*self.levels[1:], self._without_ends(newest)]
        else:
            # Level 0 has no row in the root's column, so there is no prediction for it.
            left = 1 - self.columns
            self.levels = [level[1:] for level in self.levels]
            self.levels.append(self._without_ends(newest[left:]))
        return found

    def set_root(self, root: int) -> None:
        """Set the text's last token, column 0 of level 0."""
        self.levels[0][0] = root

    def _without_ends(self, tokens: Sequence[int]) -> list[int]:
        # Nothing follows an end of text.
        return [next(self.filler) if token in self.ends else token for token in tokens]


def window_rows(columns: int, levels: int) -> Iterator[tuple[int, int]]:
    """Yield (level, column) of every row, in order."""
    for level in range(levels):
        for column in range(0 if level else 1, columns):
            yield level, column


@lru_cache(maxsize=64)
def visible(columns: int, levels: int) -> Tensor:
    """Return the attention mask among window rows, (m, m) bool.

    Row (l, i) attends to level 0 up to its column, and to the levels of its own column up to
    itself: one row for each position after the root. All rows also attend to the text and the root.
    """
    rows = list(window_rows(columns, levels))
    return torch.tensor(
        [
            [at <= column if above == 0 else at == column and above <= level for above, at in rows]
            for level, column in rows
        ],
        dtype=torch.bool,
    ).reshape(len(rows), len(rows))


@dataclass(frozen=True, slots=True)
class Found:
    """An n-gram, and the round and the window's column where it was last found."""

    tokens: tuple[int, ...]
    round: int
    column: int


class Pool:
    """The n-grams of one run, at most `guesses` (the paper's G) per first token."""

    def __init__(self, guesses: int) -> None:
        self.guesses = guesses
        self.by_first: dict[int, dict[tuple[int, ...], Found]] = {}  # by first token, oldest first

    def __len__(self) -> int:
        return sum(map(len, self.by_first.values()))

    def add(self, found: Found) -> None:
        """Add an n-gram as the newest with its first token; if too many, drop the oldest."""
        ngrams = self.by_first.setdefault(found.tokens[0], {})
        ngrams.pop(found.tokens, None)
        ngrams[found.tokens] = found
        if len(ngrams) > self.guesses:
            del ngrams[next(iter(ngrams))]

    def after(self, token: int) -> list[Found]:
        """Return the n-grams that begin with `token`, oldest first."""
        return list(self.by_first.get(token, {}).values())


class Lookahead(Weightless):
    """The lookahead drafter. Fits any target and has no weights."""

    name = "lookahead"

    def begin(self, target: TargetRun, settings: Settings) -> LookaheadSession:
        """Implement `Drafter.begin`."""
        return LookaheadSession(target.target, settings)


class LookaheadSession(Session):
    """A session with one run's window and pool, both empty at first."""

    def __init__(self, target: Target, settings: Settings) -> None:
        super().__init__(target, settings)
        self.branches = settings.lookahead_guesses > 1
        self.pool = Pool(settings.lookahead_guesses)
        self.window: Window | None = None  # set by the first proposal, which receives the prompt
        self.round = 0

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # Recorded for each node: the n-gram that added it, and the round and column in which the
        # n-gram was found. Recorded for the proposal: `pool`, the number of n-grams; `ngrams`,
        # those used; `filling`, whether the window is not full yet; `window`, its rows by level;
        # `rows_verified` and `rows_window`, how many rows of this pass are guesses and how many
        # belong to the window.
        self.round = chance.round
        if self.window is None:
            width, ngram = self.settings.lookahead_window, self.settings.lookahead_ngram
            self.window = Window(context[:-1], width, ngram, self.target.eos)
        self.window.set_root(context[-1])
        ngrams = self.pool.after(context[-1])
        tokens, parents, origins = merge_ngrams(
            [ngram.tokens for ngram in ngrams], max_tokens - 1, self.target.eos
        )
        tree = DraftTree((context[-1], *tokens), (-1, *parents))
        extra_rows = self._extra_rows(self.window, len(tree), len(context), max_tokens)
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
            self.drawn,
            evidence=evidence,
            extra_rows=extra_rows,
            shown=shown,
            work=Work(),
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`."""
        # The top tokens of the extra rows advance the window and fill the pool.
        if self.window is None or extra_rows is None or extra_rows.logits is None:
            return
        newest = extra_rows.logits[-self.window.columns :].argmax(dim=-1).tolist()
        for column, ngram in enumerate(self.window.advance(newest)):
            self.pool.add(Found(ngram, self.round, column))

    def _extra_rows(
        self, window: Window, nodes: int, length: int, max_tokens: int
    ) -> ExtraRows | None:
        # None in the last pass before the token limit, nor beyond the target's maximum position.
        if max_tokens == 1 or length - 1 + window.reach >= self.target.max_length:
            return None
        levels, columns = len(window.levels), window.columns
        tokens = tuple(token for level in window.rows() for token in level)
        positions = tuple(level + column for level, column in window_rows(columns, levels))
        seen = torch.zeros(len(tokens), nodes, dtype=torch.bool)
        seen[:, 0] = True  # of the tree, window rows attend only to the root, not to guesses
        return ExtraRows(tokens, positions, torch.cat([seen, visible(columns, levels)], dim=1))
