"""Lookahead: the target guesses far ahead in the very pass that checks the guesses (2402.02057).

Rows of a window (window.py) ride in every target pass, and what the target says at them collects as
n-grams in a pool (pool.py). The n-grams that begin with the text's last token are the guesses. The
target's top token is taken at the window's rows at any temperature, and the guesses are fixed
before any coin falls: a point mass, so the text stays the target's own. No model, no training;
paid for in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from specviz.drafters.kit.base import Weightless
from specviz.drafters.lookahead.pool import Found, Pool, merged
from specviz.drafters.lookahead.window import Window, places, visible
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn


@dataclass(frozen=True, slots=True)
class Shape:
    """How much rides. window: W, its width. ngram: N, tokens in an n-gram. guesses: G, n-grams that
    are tried in a pass.
    """

    window: int = 5
    ngram: int = 4
    guesses: int = 5

    @classmethod
    def of(cls, settings: Settings) -> Shape:
        """What the settings say."""
        return cls(settings.lookahead_window, settings.lookahead_ngram, settings.lookahead_guesses)


class Lookahead(Weightless):
    """Fits any target; nothing to load."""

    name = "lookahead"

    def begin(self, target: TargetRun, settings: Settings) -> LookaheadSession:
        """See `Drafter`."""
        return LookaheadSession(target, Shape.of(settings))


class LookaheadSession:
    """One run's window and pool, both empty at its start."""

    drawn = Drawn.POINT_MASS

    def __init__(self, target: TargetRun, shape: Shape) -> None:
        self.ends = target.target.eos
        self.max_length = target.target.max_length
        self.shape = shape
        self.branches = shape.guesses > 1
        self.pool = Pool(shape.guesses)
        self.window: Window | None = None  # from the first proposal on, which sees the prompt
        self.round = 0

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. Evidence by node: which of the n-grams below put it there, and in
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
        """See `DraftSession`. The riders' top tokens move the window on and fill the pool."""
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
